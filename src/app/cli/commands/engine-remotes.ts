/** `rookery engine remotes`: saves addresses and tokens of engines elsewhere under names. */
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { defineAction, type Group } from "../command.ts";
import { oneLine } from "../plain-text.ts";
import { printList, printResult } from "../print.ts";
import { readSecret } from "../read-secret.ts";
import { checkedUrl } from "../remotes.ts";
import { readRemotes, writeRemotes } from "../remotes-file.ts";

const NAME = /^[a-z][a-z0-9-]{0,31}$/u;

const add = defineAction({
  summary: "save an engine elsewhere under a name; its token is piped in or typed",
  usage: "<name> <url>",
  arguments: { min: 2, max: 2 },
  async run(context) {
    const { args, home, env, stdin, stderr } = context;
    const [name = "", url = ""] = args;
    if (!NAME.test(name)) {
      throw new InvalidInputError(`"${name.slice(0, 40)}" is no name for a remote.`, {
        hint: "Use lower-case letters, digits and dashes.",
      });
    }
    checkedUrl(url);
    const token = env.ROOKERY_TOKEN ?? (await readSecret(stdin(), stderr, `Token of ${url}: `));
    writeRemotes(home, { ...readRemotes(home), [name]: { url, token } });
    return printResult(context, { name, url }, context.here(`Saved. Use it: \`rookery chat --url ${name}\``));
  },
});

const list = defineAction({
  summary: "list saved engines",
  run(context) {
    const items = Object.entries(readRemotes(context.home)).map(([name, { url }]) => ({ name, url }));
    return printList(context, {
      items,
      line: ({ name, url }) => `${name.padEnd(16)} ${oneLine(url, 200)}`,
      empty: "No remotes. Save one with `rookery engine remotes add NAME URL`.",
    });
  },
});

const remove = defineAction({
  summary: "forget a saved engine and its token",
  usage: "<name>",
  arguments: { min: 1, max: 1 },
  run(context) {
    const [name = ""] = context.args;
    const { [name]: found, ...rest } = readRemotes(context.home);
    if (!found) throw new NotFoundError(`There is no remote "${name.slice(0, 60)}".`);
    writeRemotes(context.home, rest);
    return printResult(context, { removed: name }, `Removed ${name}.`);
  },
});

export const remotesGroup: Group = {
  summary: "save, list and remove engines elsewhere",
  description: "A saved engine is used with `--url NAME` by chat, send and status. The token is stored for you only.",
  actions: { list, add, remove },
  fallback: "list",
};

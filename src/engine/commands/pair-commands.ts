/** `/pair`: the owner lets people and groups in. `/link`: a person makes another account their own. */
import { errorText, RookeryError } from "../../core/errors.ts";
import { isRecordId, OWNER } from "../../core/people/person.ts";
import type { ChatCommand, CommandContext, CommandReply } from "./chat-command.ts";
import { anything, nothing, reply } from "./words.ts";

const USAGE = "/pair [CODE [as ID]] | no CODE | block CODE|ACCOUNT | forget CODE|ACCOUNT";

export const pairCommands: readonly ChatCommand[] = [
  {
    name: "pair",
    usage: "[CODE [as ID]] | no|block|forget CODE",
    help: "let someone in who waits; alone it lists them",
    example: "/pair k7mzq2 as ann",
    who: "owner",
    reads: anything,
    run: (rest, context) => caught(() => pair(rest, context)),
  },
  {
    name: "link",
    help: "a code that makes another account yours",
    who: "own",
    reads: nothing,
    run: (_, context) => caught(() => link(context)),
  },
];

async function caught(run: () => Promise<CommandReply>): Promise<CommandReply> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof RookeryError) || error.retryable) throw error;
    return { text: reply(errorText(error)) };
  }
}

async function pair(rest: string, { pairing, person, decide }: CommandContext): Promise<CommandReply> {
  const { verdict, reason } = decide({ action: "manage.people", rights: [] });
  if (verdict !== "allow") return { text: reply(`You may not use /pair: ${reason}.`) };
  if (!pairing) return { text: reply("No channel here asks for codes.") };
  const [first = "", second = "", third = ""] = rest.split(/\s+/u);
  if (first === "") return { text: listText(await pairing.list()) };
  const by = { person, surface: "chat" };
  switch (first.toLowerCase()) {
    case "no":
      return { text: reply(`${(await pairing.deny(second, by)).account} was not let in.`) };
    case "block":
      return { text: reply(`${await pairing.block(second, by)} is blocked.`) };
    case "forget":
      return { text: reply(`${await pairing.forget(second, by)} is forgotten.`) };
    default: {
      if (second !== "" && second.toLowerCase() !== "as") return { text: reply(`Usage: ${USAGE}`) };
      const { person: id, account } = await pairing.approve(first, by, third || undefined);
      return { text: reply(`${account} is let in as ${id}.`) };
    }
  }
}

function listText(
  requests: readonly { readonly code: string; readonly account: string; readonly name?: string }[],
): string {
  if (requests.length === 0) return reply("No one waits to be let in.");
  return requests
    .map(({ code, account, name }) => `${code}  ${account}${name === undefined ? "" : `  ${name}`}`)
    .join("\n");
}

async function link({ pairing, person, agent }: CommandContext): Promise<CommandReply> {
  if (!pairing) return { text: reply("No channel here asks for codes.") };
  if ((agent.state.chatType ?? "direct") !== "direct") {
    return { text: reply("Use /link in a direct message: whoever has the code becomes you.") };
  }
  if (person !== OWNER && !isRecordId(person))
    return { text: reply("Only people whom the owner let in can link accounts.") };
  const code = await pairing.linkCode(person);
  return { text: reply(`Write this from your other account, within 15 minutes:\n/link ${code}`) };
}

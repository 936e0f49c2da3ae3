/**
 * `rookery connect telegram`: tests a token, finds the owner's account, and adds the bot to the configuration. An engine that runs
 * connects it at once. Every step can be given by a flag.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OptionalPackage } from "../../../adapters/connectors/packages/optional-package.ts";
import { type BotApi, DEFAULT_API_ROOT, openBotApi } from "../../../adapters/connectors/telegram/bot-api.ts";
import { createHome } from "../../../config/create-home.ts";
import { withEntry } from "../../../config/edit-config.ts";
import type { ConnectorKind } from "../../../config/sections/connectors.ts";
import { ChannelUnavailableError, ConfigError, NotFoundError, UsageError } from "../../../core/errors.ts";
import { packageOf } from "../../node/configured-connectors.ts";
import { withApi } from "../client/with-api.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { requirePackages } from "../ensure-packages.ts";
import { readSecret } from "../read-secret.ts";

const OPTIONS = {
  name: { type: "string", value: "NAME", description: "the name of the entry (default: telegram)" },
  "token-env": { type: "string", value: "VARIABLE", description: "the environment variable that has the token" },
  "token-file": { type: "string", value: "FILE", description: "the file that has the token" },
  owner: {
    type: "string",
    value: "ID",
    description: "your own numeric id at Telegram; without it you are asked to write to the bot",
  },
  yes: { type: "boolean", description: "install what the channel needs without asking" },
  "api-root": { type: "string", value: "URL", description: "the address of a Bot API server of your own" },
} as const;

/** How long the command waits for the owner's message. */
const OWNER_MS = 180_000;
const STARTED_MS = 10_000;

const telegram = defineAction({
  summary: "connect a bot of Telegram",
  description:
    "Make a bot with @BotFather first. The token is read from the terminal or a pipe and kept in a file of the home, unless a flag names where it is.",
  options: OPTIONS,
  async run(context) {
    const { flags, stdout, paths } = context;
    const name = flags.name ?? "telegram";
    if (!/^[A-Za-z0-9][\w.-]{0,63}$/u.test(name) || name === "default")
      throw new UsageError(`"${name}" cannot be the name of an entry.`);
    await requirePackages(context, packagesOf("telegram"), flags.yes ? "yes" : "ask");
    const before = existsSync(paths.config) ? readFileSync(paths.config, "utf8") : "";
    const { token, reference, store } = await tokenOf(context, name);
    const apiRoot = flags["api-root"];
    const api = openBotApi({ token, apiRoot: apiRoot ?? DEFAULT_API_ROOT, timeoutSeconds: 30 });
    const bot = await botOf(api);
    stdout.write(`The token is valid: @${bot}\n`);
    const kind = name === "telegram" ? "" : 'kind: "telegram", ';
    const root = apiRoot === undefined ? "" : `, apiRoot: ${JSON.stringify(apiRoot)}`;
    // Checked before anything is asked or written.
    const after = withEntry(before, "connectors", name, `{ ${kind}token: ${reference}${root} }`);
    const owner = flags.owner ?? (await ownerOf(context, api, bot));
    if (!/^\d{1,20}$/u.test(owner))
      throw new UsageError("The owner's id is a number.", { hint: "Leave --owner out to find it." });
    await createHome(paths);
    store?.();
    await linkOwner(context, `telegram:${owner}`);
    writeFileSync(paths.config, after, { mode: 0o600 });
    stdout.write(`Added connectors.${name} to ${paths.config}. telegram:${owner} is you.\n`);
    stdout.write(`${await stateOf(context, name)}\n`);
    return undefined;
  },
});

const packagesOf = (kind: ConnectorKind): readonly OptionalPackage[] => [packageOf(kind) ?? []].flat();

interface FoundToken {
  readonly token: string;
  /** As the configuration refers to it. */
  readonly reference: string;
  /** Writes the file, once everything else is known to be right. */
  store?(): void;
}

async function tokenOf(context: CommandContext<typeof OPTIONS>, name: string): Promise<FoundToken> {
  const { flags, env, paths, stdin, stderr } = context;
  const variable = flags["token-env"];
  if (variable !== undefined) {
    const token = env[variable];
    if (!token) throw new UsageError(`The environment variable ${variable} is not set.`);
    return { token, reference: `{ env: ${JSON.stringify(variable)} }` };
  }
  const given = flags["token-file"];
  if (given !== undefined) {
    if (!existsSync(given)) throw new NotFoundError(`There is no file ${given}.`);
    return { token: readFileSync(given, "utf8").trim(), reference: `{ file: ${JSON.stringify(given)} }` };
  }
  const token = await readSecret(stdin(), stderr, "Token of the bot (not shown): ");
  const file = join(paths.home, `${name}.token`);
  const store = (): void => writeFileSync(file, `${token}\n`, { mode: 0o600 });
  return { token, reference: `{ file: ${JSON.stringify(file)} }`, store };
}

async function botOf(api: BotApi): Promise<string> {
  const me = await api.call("getMe", undefined as never);
  if (me.status === "ok") return me.result.username;
  if (me.status === "refused") {
    throw new ConfigError(`Telegram refuses the token: ${me.reason}`, { hint: "Copy it again from @BotFather." });
  }
  throw new ChannelUnavailableError(`Telegram cannot be reached: ${me.reason}`, {
    hint: "Check the network, then try again.",
  });
}

/** The id of the person who sends the code to the bot. No update is confirmed: the engine gets them all. */
async function ownerOf({ stdout }: CommandContext, api: BotApi, bot: string): Promise<string> {
  const code = randomBytes(5).toString("hex");
  stdout.write(`Open https://t.me/${bot}?start=${code} on your phone and press Start, or send "${code}" to @${bot}.\n`);
  const until = performance.now() + OWNER_MS;
  while (performance.now() < until) {
    const call = await api.call("getUpdates", { timeout: 10, allowed_updates: ["message"] });
    if (call.status === "refused" && call.code === 409) {
      throw new ConfigError("Another program receives the messages of this bot.", {
        hint: "Stop it, or pass your id with --owner.",
      });
    }
    const updates = call.status === "ok" ? call.result : [];
    const found = updates.find(({ message }) => message?.chat.type === "private" && message.text?.includes(code));
    if (found?.message?.from) return String(found.message.from.id);
    if (updates.length > 0) await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  throw new UsageError("No message with the code came.", { hint: "Try again, or pass your id with --owner." });
}

const linkOwner = (context: CommandContext, account: string): Promise<unknown> =>
  withApi(context, (api) => api.ask({ method: "POST", path: "/api/owner/accounts", body: { account } }));

/** A running engine reads the configuration by itself. */
async function stateOf(context: CommandContext, name: string): Promise<string> {
  const until = performance.now() + STARTED_MS;
  let state = "";
  while (performance.now() < until) {
    const { items } = (await withApi(context, (api) => api.ask({ method: "GET", path: "/api/connectors" }))) as {
      items: readonly { name: string; state: string; detail: string }[];
    };
    const found = items.find((one) => one.name === name);
    state = found ? `${found.state}: ${found.detail}` : "";
    if (found?.state === "running") return `It is connected (${found.detail}). Write to it, and it answers.`;
    if (!found || found.detail.startsWith("no engine")) break;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return state.startsWith("failing")
    ? `It does not work yet: ${state}`
    : "Start the engine with `rookery serve`, then write to the bot.";
}

export const connectCommand: Group = {
  summary: "connect a channel: rookery connect telegram",
  actions: { telegram },
};

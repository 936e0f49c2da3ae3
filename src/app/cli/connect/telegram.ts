/**
 * `rookery channels add telegram`: tests a token, finds the owner's account, and adds the bot to the configuration. An engine that runs
 * connects it at once. Every step can be given by a flag.
 */
import { randomBytes } from "node:crypto";
import { type BotApi, DEFAULT_API_ROOT, openBotApi } from "../../../adapters/connectors/telegram/bot-api.ts";
import { ChannelUnavailableError, ConfigError, UsageError } from "../../../core/errors.ts";
import { type CommandContext, defineAction } from "../command.ts";
import { requirePackages } from "../ensure-packages.ts";
import { readSecret } from "../read-secret.ts";
import {
  addEntry,
  configWith,
  connected,
  entryName,
  entryText,
  type FoundSecret,
  givenSecret,
  keptSecret,
  packagesOf,
  stateOf,
  tell,
} from "./entry.ts";

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

export const connectTelegram = defineAction({
  summary: "connect a Telegram bot",
  description:
    "Make a bot with @BotFather first. The token is read from the terminal or a pipe and kept in a file of the home, unless a flag names where it is.",
  options: OPTIONS,
  async run(context) {
    const { flags } = context;
    const name = entryName(flags.name ?? "telegram");
    await requirePackages(context, packagesOf("telegram"), flags.yes ? "yes" : "ask");
    const token = await tokenOf(context, name);
    const apiRoot = flags["api-root"];
    const api = openBotApi({ token: token.value, apiRoot: apiRoot ?? DEFAULT_API_ROOT, timeoutSeconds: 30 });
    const bot = await botOf(api);
    tell(context, `The token is valid: @${bot}`);
    // Checked before anything is asked or written.
    const config = configWith(
      context,
      name,
      entryText({
        ...{ kind: name === "telegram" ? undefined : '"telegram"', token: token.reference },
        apiRoot: apiRoot && JSON.stringify(apiRoot),
      }),
    );
    const owner = flags.owner ?? (await ownerOf(context, api, bot));
    if (!/^\d{1,20}$/u.test(owner))
      throw new UsageError("The owner's id is a number.", { hint: "Leave --owner out to find it." });
    const added = await addEntry(context, { name, config, secrets: [token], owner: `telegram:${owner}` });
    const state = await stateOf(context, name, "Start the engine with `rookery serve`, then write to the bot.");
    return connected(context, { ...added, state });
  },
});

async function tokenOf(context: CommandContext<typeof OPTIONS>, name: string): Promise<FoundSecret> {
  const { flags, stdin, stderr } = context;
  const given = givenSecret(context, { variable: flags["token-env"], file: flags["token-file"] });
  if (given) return given;
  if (stdin().isTTY) tell(context, "In Telegram, write /newbot to @BotFather. It answers with the token of your bot.");
  return keptSecret(context, `${name}.token`, await readSecret(stdin(), stderr, "Token of the bot (not shown): "));
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
async function ownerOf(context: CommandContext, api: BotApi, bot: string): Promise<string> {
  const code = randomBytes(5).toString("hex");
  const address = `https://t.me/${bot}?start=${code}`;
  tell(context, `Waiting for you. On your phone open\n  ${address}\nand press Start, or send "${code}" to @${bot}.`);
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
  throw new UsageError("No message with the code came.", {
    hint: "Send the code itself, not only /start. Try again, or pass your id with --owner.",
  });
}

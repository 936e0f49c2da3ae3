/** `rookery chat`: a conversation in the terminal, with the engine that runs on the home or with one of its own. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../../../core/errors.ts";
import { type CommandContext, defineAction, type Options } from "../command.ts";
import { oneLine } from "../plain-text.ts";
import { REMOTE_OPTIONS } from "../remotes.ts";

const OPTIONS = {
  ...REMOTE_OPTIONS,
  inline: { type: "boolean", description: "use the normal screen, so that the terminal keeps what scrolls away" },
} as const satisfies Options;

export const chatCommand = defineAction({
  summary: "talk with an agent in the terminal",
  usage: "[conversation]",
  arguments: { min: 0, max: 1 },
  description:
    "Opens the main conversation, or the one you name: an agent's name, id or session key; any other name is a conversation of yours. It uses the engine that runs on the home; without one it runs an engine until you leave.",
  options: OPTIONS,
  async run(context) {
    if (!context.stdin().isTTY || !process.stdout.isTTY) {
      throw new UsageError("`rookery chat` needs a terminal.", {
        hint: 'Use `rookery send "…"`, or pipe the text into `rookery send`.',
      });
    }
    const [
      { ChatApp },
      { conversationNamed },
      { InputHistory },
      { reachEngine },
      { wholeName },
      { ProcessTerminal },
      { readVersion },
    ] = await Promise.all([
      import("../chat/chat-app.ts"),
      import("../chat/conversation-name.ts"),
      import("../chat/input-history.ts"),
      import("../chat/reach-engine.ts"),
      import("../expand-ids.ts"),
      import("@earendil-works/pi-tui"),
      import("../../../adapters/system/version.ts"),
    ]);
    const isNew = context.flags.url === undefined && !existsSync(context.paths.home);
    let fatal: unknown;
    const engine = await reachEngine(context, (error) => {
      fatal = error;
      app.leave();
    });
    const app = new ChatApp({
      ...{
        terminal: new ProcessTerminal(),
        env: context.env,
        transport: engine.transport,
        isAttached: engine.isAttached,
      },
      ...{
        isRemote: engine.url !== undefined,
        conversation: conversationNamed(await wholeName(context, context.args[0])),
        isInline: context.flags.inline ?? false,
      },
      ...{ cwd: process.cwd(), history: new InputHistory(join(context.home, "chat-history.jsonl")) },
      ...{ version: readVersion(), place: engine.url ?? shortHome(context), isNew, command: commandName(context) },
    });
    const onSignal = (): void => app.leave();
    for (const signal of SIGNALS) process.once(signal, onSignal);
    try {
      const unsent = await app.run();
      for (const text of unsent) context.stderr.write(`Not sent, no engine accepted it: ${oneLine(text, 200)}\n`);
    } finally {
      for (const signal of SIGNALS) process.off(signal, onSignal);
      await engine.close();
    }
    if (fatal !== undefined) throw fatal;
    return 0;
  },
});

const SIGNALS = ["SIGTERM", "SIGHUP", "SIGINT"] as const;

const shortHome = ({ home }: CommandContext): string =>
  home.startsWith(`${homedir()}/`) ? `~${home.slice(homedir().length)}` : home;

/** How the person calls this program. */
const commandName = ({ here }: CommandContext): string => here("`rookery`").slice(1, -1);

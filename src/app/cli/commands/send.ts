/** `rookery send`: a message from a script or a shell, named or piped in. */
import { InvalidInputError, UsageError } from "../../../core/errors.ts";
import { type CommandContext, defineAction, type Options } from "../command.ts";
import { REMOTE_OPTIONS } from "../remotes.ts";

const MAX_TEXT = 1_000_000;

export const SEND_OPTIONS = {
  to: {
    type: "string",
    value: "NAME",
    description: "an agent's name, id or session key; any other name is a conversation of yours",
  },
  stream: { type: "boolean", description: "print the answer while it is written" },
  receipt: { type: "boolean", description: "do not wait: print where the message is and exit" },
  file: { type: "string", value: "PATH", multiple: true, description: "send this file too" },
  lines: { type: "boolean", description: "send each line of the standard input as its own message" },
  user: { type: "string", value: "NAME", description: "the user who sends the piped text (default: owner)" },
  ...REMOTE_OPTIONS,
} as const satisfies Options;

export const sendCommand = defineAction({
  summary: "send a text that you name or pipe in, and print the answer",
  usage: "[text]",
  arguments: { min: 0, max: 1_000 },
  description:
    "Waits for the answer and prints it. `--to` names an agent, such as one you made with `rookery agents add`; a name that no agent has is a conversation of yours, and the first message makes it. With --receipt it returns as soon as the message is saved; without a running engine the next one answers it. The exit code is 1 if the agent could not answer. Without a text it sends what you pipe in, and exits when everything is delivered. With --lines each line is a message, answered in order; a command such as `/reset` or `/new` waits until the lines before it are answered. A line without an answer is reported on standard error. While `rookery serve` runs, it answers; else this process does, and completes the unfinished work of an earlier one first.",
  options: SEND_OPTIONS,
  async run(context) {
    const { lines, user, to, receipt, stream, file, url } = context.flags;
    const isFromTerminal = lines || user !== undefined;
    const isToNamed = [to, receipt, stream, file, url].some((flag) => flag !== undefined);
    if (isFromTerminal && isToNamed) {
      throw new UsageError("--lines and --user cannot be used with --to, --receipt, --stream, --file or --url.", {
        hint: "Send the lines to your main conversation, or one text to the agent that you name.",
      });
    }
    const text = context.args.join(" ");
    if (text === "" && context.stdin().isTTY) {
      throw new UsageError("rookery send needs a text.", { hint: 'Usage: `rookery send "what is due today?"`' });
    }
    if (isFromTerminal || (text === "" && !isToNamed)) {
      const { sendPiped } = await import("./send-piped.ts");
      return sendPiped(context, text);
    }
    const { sendOne } = await import("./send-one.ts");
    return sendOne(context, text === "" ? await piped(context) : text);
  },
});

async function piped({ stdin }: CommandContext): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stdin()) {
    text += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    if (text.length > MAX_TEXT) {
      throw new InvalidInputError(`The text is longer than ${MAX_TEXT} characters.`, {
        hint: "Send it as a file: `rookery send --file PATH TEXT`",
      });
    }
  }
  return text + decoder.decode();
}

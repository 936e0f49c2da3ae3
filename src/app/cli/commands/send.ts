/** `rookery send`: one message from a script or a shell; waits for the answer, prints it as it comes, or returns a receipt. */
import { randomUUID } from "node:crypto";
import { InvalidInputError } from "../../../core/errors.ts";
import { printable } from "../../../core/printable.ts";
import { EngineApi } from "../../client/engine-api.ts";
import { attachmentsOf, storeFiles } from "../chat/attachments.ts";
import { conversationNamed } from "../chat/conversation-name.ts";
import { reachEngine } from "../chat/reach-engine.ts";
import { defineAction, type Options } from "../command.ts";
import { wholeName } from "../expand-ids.ts";
import { printResult } from "../print.ts";
import { REMOTE_OPTIONS } from "../remotes.ts";
import { type SentMessage, waitForReplies } from "../wait-for-replies.ts";

const OPTIONS = {
  to: {
    type: "string",
    value: "NAME",
    description: "an agent's name, id or session key; any other name is a conversation of yours",
  },
  stream: { type: "boolean", description: "print the answer while it is written" },
  receipt: { type: "boolean", description: "do not wait: print where the message is and exit" },
  file: { type: "string", value: "PATH", multiple: true, description: "send this file too" },
  ...REMOTE_OPTIONS,
} as const satisfies Options;

export const sendCommand = defineAction({
  summary: "send one message and print the answer",
  usage: "<text>",
  arguments: { min: 1, max: 1 },
  description:
    "Waits for the answer and prints it. `--to` names an agent, such as one you made with `rookery agents create`; a name that no agent has is a conversation of yours, and the first message makes it. With --receipt it returns as soon as the message is saved; without a running engine the next one answers it. The exit code is 1 if the agent could not answer.",
  options: OPTIONS,
  async run(context) {
    const { args, flags, stdout, stderr, json } = context;
    const text = (args[0] ?? "").trim();
    if (text === "") throw new InvalidInputError("The message is empty.");
    const engine = await reachEngine(context, (error) => stderr.write(`${String(error)}\n`), {
      work: !flags.receipt,
    });
    try {
      const api = new EngineApi(engine.transport);
      const named = (flags.file ?? []).map((path) => `@"${path}"`).join(" ");
      const attachments = await attachmentsOf(named, process.cwd());
      if (attachments.length < (flags.file ?? []).length) {
        throw new InvalidInputError("A file of --file does not exist.", { hint: "Check the paths." });
      }
      const files = await storeFiles(api, attachments);
      const { agent, to } = conversationNamed(await wholeName(context, flags.to));
      const body = { agent, to, text, files };
      const { messages } = await api.post<{ messages: readonly SentMessage[] }>("/api/terminal/messages", body, {
        id: randomUUID(),
      });
      const sent = messages.at(-1);
      if (!sent) return 1;
      if (flags.receipt) {
        return printResult(context, sent, `Accepted as message ${sent.seq} of ${sent.agentId}.`);
      }
      const onDelta = flags.stream && !json ? (delta: string) => stdout.write(printable(delta)) : undefined;
      const { replies, streamed, unanswered } = await waitForReplies(api, sent, onDelta);
      if (json) {
        printResult(context, { ...sent, replies, unanswered }, "");
        return replies.some(({ isError }) => isError) ? 1 : undefined;
      }
      if (streamed) stdout.write("\n");
      for (const reply of replies) {
        if (reply.isError) stderr.write(`${printable(reply.text)}\n`);
        else if (!streamed) stdout.write(`${printable(reply.text)}\n`);
      }
      if (unanswered) stderr.write(`No answer: ${unanswered.reason}.\n`);
      return replies.some(({ isError }) => isError) || unanswered?.failed ? 1 : undefined;
    } finally {
      await engine.close();
    }
  },
});

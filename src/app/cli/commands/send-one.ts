/** One message of `rookery send`: waits for the answer, prints it as it comes, or returns a receipt. */

import { randomUUID } from "node:crypto";
import { InvalidInputError } from "../../../core/errors.ts";
import { printable } from "../../../core/printable.ts";
import { EngineApi } from "../../client/engine-api.ts";
import { attachmentsOf, storeFiles } from "../chat/attachments.ts";
import { conversationNamed } from "../chat/conversation-name.ts";
import { reachEngine } from "../chat/reach-engine.ts";
import type { CommandContext } from "../command.ts";
import { wholeName } from "../expand-ids.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { type SentMessage, waitForReplies } from "../wait-for-replies.ts";
import type { SEND_OPTIONS } from "./send.ts";

export async function sendOne(
  context: CommandContext<typeof SEND_OPTIONS>,
  written: string,
): Promise<number | undefined> {
  const { flags, stdout, stderr, json } = context;
  const text = written.trim();
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
      return printResult(context, sent, `Accepted as message ${sent.seq} of ${oneLine(flags.to ?? "main", 80)}.`);
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
}

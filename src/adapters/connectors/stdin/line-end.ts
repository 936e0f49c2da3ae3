/** How a line of standard input ended: whether it has an answer, and if not, why. And which lines wait for others. */
import { deliveryId } from "../../../core/delivery/delivery.ts";
import type { AgentId, MessageId } from "../../../core/ids.ts";
import { typedText } from "../../../core/message/incoming-message.ts";
import { isSettled, type Message } from "../../../core/message/message.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type ReadOptions, readChatCommand } from "../../../engine/commands/read-chat-command.ts";

export interface AcceptedLine {
  readonly agentId: AgentId;
  readonly messageId: MessageId;
}

/** `failed`: no one decided that the line gets no answer. */
export type LineEnd =
  | { readonly kind: "answered" }
  | { readonly kind: "unanswered"; readonly reason: string; readonly failed: boolean };

type Reader = Pick<StoreReader, "message" | "delivery">;

const ANSWERED = { kind: "answered" } as const;

/** A command takes effect at once, so the lines before it must have ended. To end them is the purpose of "stop". */
export function waitsForEarlierLines(text: string, options: ReadOptions): boolean {
  const input = readChatCommand(typedText(text), options);
  return input?.kind === "command" && input.name !== "stop";
}

/** `line`: its number, if the input is read line by line. */
export const unansweredText = (line: number | undefined, reason: string): string =>
  `${line === undefined ? "The message" : `Line ${line}`} has no answer: ${reason}.\n`;

/** The number of a message at its agent. */
export const seqOf = ({ agentId, messageId }: AcceptedLine): number => Number(messageId.slice(agentId.length + 1));

export async function readLineEnd(store: Reader, line: AcceptedLine): Promise<LineEnd> {
  const message = await store.message(line.agentId, seqOf(line));
  if (!message) return ANSWERED;
  const { state, reason, runId } = message;
  if (!isSettled(message)) return unanswered("it is not finished; the next start continues it");
  // A command that needs no run is recorded, and a merged line is answered with the line it was merged into.
  if (state === "recorded" || state === "merged") return ANSWERED;
  const answers = await answersOf(store, message);
  if (answers.includes("shown") || (runId === undefined && state === "answered")) return ANSWERED;
  if (state === "answered") return { ...unanswered(answers[0] ?? "the agent said nothing"), failed: false };
  return unanswered(reason ? `${state} (${reason})` : state);
}

const unanswered = (reason: string): Extract<LineEnd, { kind: "unanswered" }> => ({
  kind: "unanswered",
  reason,
  failed: true,
});

/** Every delivery of the message's run: "shown", or why it was suppressed. */
async function answersOf(store: Reader, { runId }: Message): Promise<readonly string[]> {
  const found: string[] = [];
  for (let ordinal = 0; runId !== undefined; ordinal++) {
    const delivery = await store.delivery(deliveryId(runId, ordinal));
    if (!delivery) break;
    const { state, reason } = delivery;
    found.push(state === "suppressed" ? `suppressed${reason ? ` (${reason})` : ""}` : "shown");
  }
  return found;
}

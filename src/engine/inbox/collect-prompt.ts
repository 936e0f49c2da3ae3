/** The prompt made of messages that waited together, and the lines about dropped ones. */
import { shortened } from "../../core/cut-text.ts";
import { type Message, messageText } from "../../core/message/message.ts";

export const COLLECT_TITLE = "[Queued messages while agent was busy]";
export const COLLECT_REPORTS_TITLE = "[Queued announce messages while agent was busy]";
const SUMMARY_LINE = 160;

/** One prompt of several messages, each under its number. `texts`: what the model would read of each message alone. */
export function buildCollectPrompt(params: {
  readonly title: string;
  readonly texts: readonly string[];
  readonly summary?: string;
}): string {
  const items = params.texts.map((text, index) => `---\nQueued #${index + 1}\n${text}`.trim());
  return [params.title, ...(params.summary ? [params.summary] : []), ...items].join("\n\n");
}

/** What the model reads about dropped messages: one line for each of the last `cap`. */
export function buildQueueSummaryPrompt(dropped: readonly Message[], cap: number): string | undefined {
  if (dropped.length === 0) return undefined;
  const noun = dropped.length === 1 ? "message" : "messages";
  const lines = dropped
    .slice(-cap)
    .map((message) => `- ${summaryLine(ownSummary(message) ?? messageText(message.body))}`);
  return [`[Queue overflow] Dropped ${dropped.length} ${noun} due to cap.`, "Summary:", ...lines].join("\n");
}

/** What a channel says a message is about, instead of its text. */
const ownSummary = ({ body }: Message): string | undefined =>
  (body.kind === "user" && body.summaryLine?.trim()) || undefined;

/** A text in one line of at most 160 characters. */
export function summaryLine(text: string): string {
  return shortened(text.replaceAll(/\s+/gu, " ").trim(), SUMMARY_LINE);
}

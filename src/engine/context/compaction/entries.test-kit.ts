/** Entries of a history, made up in a word. */
import type { Block, Entry } from "../../../core/history/entry.ts";
import type { ModelMessage } from "../../../core/ports/model.ts";

export const text = (words: string): Block => ({ type: "text", text: words });
export const call = (id: string, name = "read", args: Record<string, unknown> = {}): Block => ({
  ...{ type: "toolCall", id, name, arguments: args },
});
export const image: Block = { type: "image", data: "A".repeat(9_000), mimeType: "image/png" };
export const message = (role: ModelMessage["role"], ...content: Block[]): ModelMessage => ({ role, content });

let count = 0;
export const entry = (more: object): Entry =>
  ({ id: `e${++count}`, parentId: null, timestamp: 1, ...more }) as unknown as Entry;
export const said = (role: "user" | "assistant" | "tool", content: Block[], more: object = {}): Entry =>
  entry({ type: "message", role, content, ...more });
export const user = (words = "hi", more: object = {}) => said("user", [text(words)], more);
export const assistant = (words = "ok", more: object = {}) => said("assistant", [text(words)], more);
export const calling = (...ids: string[]) =>
  said(
    "assistant",
    ids.map((id) => call(id)),
  );
export const result = (toolCallId: string, words = "out") => said("tool", [text(words)], { toolCallId });
export const compaction = (firstKept: Entry | undefined, details: object = {}, summary = "before") =>
  entry({ type: "compaction", summary, firstKeptEntryId: firstKept?.id ?? "gone", tokensBefore: 9, details });

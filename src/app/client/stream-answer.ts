/**
 * The events of the run that answers a message. The texts of its `delta` events together are the answer: what was committed
 * before the stream was open, or while it was lost, comes as one delta.
 */
import type { Entry } from "../../core/history/entry.ts";
import type { ServerEvent } from "./event-stream.ts";

/** `id` continues the stream behind this event. */
export type AnswerEvent = { readonly id: string | undefined } & (
  | { readonly type: "start" | "step" }
  /** A part of the answer. */
  | { readonly type: "delta"; readonly text: string }
  /** A part of the model's thoughts. */
  | { readonly type: "thinking"; readonly text: string }
  /** The model starts this step again: the deltas since the last `step` are void. */
  | { readonly type: "restart" }
  | { readonly type: "tool_start"; readonly callId: string; readonly name: string }
  | { readonly type: "tool_update"; readonly callId: string; readonly text: string }
  | { readonly type: "tool_end"; readonly callId: string; readonly name: string; readonly isError: boolean }
  | { readonly type: "compaction_start"; readonly reason: string }
  | { readonly type: "compaction_end"; readonly compacted: boolean; readonly text: string }
  /** A committed entry of the history. */
  | { readonly type: "entry"; readonly position: number; readonly entry: Entry }
  | { readonly type: "error"; readonly message: string }
  /** The last event. `outcome` is `ok`, or why there is no answer. */
  | { readonly type: "end"; readonly outcome: string; readonly runId?: string }
);

export async function* answerEvents(events: AsyncIterable<ServerEvent>): AsyncGenerator<AnswerEvent> {
  /** The text of the current step that was given out, in pieces: joining it at each delta would be quadratic. */
  let said: string[] = [];
  /** The entry of this step came before its deltas: a stream that is opened while a step is committed gets both. */
  let isCommitted = false;
  for await (const { id, type, data } of events) {
    switch (type) {
      case "delta":
        if (isCommitted) break;
        if (data.stream === "thinking") {
          yield { id, type: "thinking", text: String(data.text) };
          break;
        }
        said.push(String(data.text));
        yield { id, type, text: String(data.text) };
        break;
      case "entry": {
        const text = assistantText(data.entry);
        if (text !== undefined) {
          const rest = restOf(text, said.join(""));
          said = [];
          isCommitted = true;
          if (rest !== "") yield { id: undefined, type: "delta", text: rest };
        }
        yield { ...data, id, type } as AnswerEvent;
        break;
      }
      case "restart":
        said = [];
        isCommitted = false;
        yield { id, type };
        break;
      case "end": {
        const result = data.result as { readonly outcome?: string } | undefined;
        const outcome = String(result?.outcome ?? data.outcome ?? "");
        yield { id, type, outcome, runId: data.runId as string | undefined };
        return;
      }
      case "step":
        isCommitted = false;
        yield { id, type };
        break;
      default:
        yield { ...data, id, type } as AnswerEvent;
    }
  }
}

/** Nothing if the deltas were of another attempt: the `entry` has the whole text. */
const restOf = (text: string, said: string): string => (text.startsWith(said) ? text.slice(said.length) : "");

function assistantText(entry: unknown): string | undefined {
  const { type, role, content } = entry as { type?: string; role?: string; content?: readonly Block[] };
  if (type !== "message" || role !== "assistant" || !Array.isArray(content)) return undefined;
  return (content as readonly Block[]).map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("");
}

interface Block {
  readonly type: string;
  readonly text?: string;
}

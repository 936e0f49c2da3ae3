/**
 * A model whose answers have a greatest length (M34). A longer answer is ended while it streams, so it is never held whole. Its
 * beginning is kept with a note, which the history, the stream and the person all get. Its tool calls are not executed.
 */
import type { Current } from "../../core/current.ts";
import { cutText } from "../../core/cut-text.ts";
import type { Block } from "../../core/history/entry.ts";
import type { Model, ModelEvent, ModelResult } from "../../core/ports/model.ts";
import { type TextLimits, textSize } from "../../core/text-limits.ts";

const cutNote = (maxCharacters: number): string =>
  `\n\n[The answer was cut off here: it is longer than ${maxCharacters} characters.]`;

export function limitedModel(model: Model, settings: Current<{ readonly limits: TextLimits }>): Model {
  return {
    async call(request, signal, onEvent) {
      const { answerCharacters: max } = settings.current.limits;
      const ending = new AbortController();
      const onAbort = (): void => ending.abort(signal.reason);
      if (signal.aborted) onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      const stream = limitedStream(max, onEvent, () => ending.abort());
      try {
        const result = await model.call({ ...request, maxCharacters: max }, ending.signal, stream.onEvent);
        return limitedResult(result, max, stream.isCut() && !signal.aborted, onEvent);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    price: model.price && ((choice) => model.price?.(choice) ?? Promise.resolve(undefined)),
  };
}

/** Forwards the events of an answer up to its limit, then calls `end` once. */
function limitedStream(max: number, onEvent: (event: ModelEvent) => void, end: () => void) {
  let left = max;
  let cut = false;
  return {
    isCut: () => cut,
    onEvent(event: ModelEvent): void {
      if (cut) return;
      if (event.type === "restart") left = max;
      if (!("delta" in event)) {
        if (event.type === "toolCall") left -= CALL_FRAME;
        onEvent(event);
        return;
      }
      left -= event.delta.length;
      if (left >= 0) {
        if (event.type !== "arguments") onEvent(event);
        return;
      }
      cut = true;
      const delta = cutText(event.delta, event.delta.length + left);
      if (event.type !== "arguments" && delta !== "") onEvent({ ...event, delta });
      end();
    },
  };
}

/** The result within the limit, also of a model that sends no events. */
function limitedResult(
  result: ModelResult,
  max: number,
  wasCut: boolean,
  onEvent: (event: ModelEvent) => void,
): ModelResult {
  const { content, tooLong } = beginningOf(result.content, max);
  const cut = wasCut || tooLong || result.cut === true;
  if (!cut) return result;
  // A failed answer stays a failure: only its length changes.
  if (result.error && !wasCut) return { ...result, content };
  const note = cutNote(max);
  onEvent({ type: "text", delta: note });
  const { error: _error, ...rest } = result;
  return { ...rest, content: withNote(content, note), stopReason: "length", cut };
}

/** The blocks that fit. A text is cut; a call or an image that does not fit is left out. */
function beginningOf(content: readonly Block[], max: number): { content: readonly Block[]; tooLong: boolean } {
  let left = max;
  let tooLong = false;
  const kept: Block[] = [];
  for (const block of content) {
    left -= sizeOf(block);
    if (left >= 0) {
      kept.push(block);
      continue;
    }
    tooLong = true;
    const room = sizeOf(block) + left;
    if (block.type === "text") kept.push({ ...block, text: cutText(block.text, room) });
    if (block.type === "thinking") kept.push({ ...block, thinking: cutText(block.thinking, room) });
    break;
  }
  return tooLong ? { content: kept, tooLong } : { content, tooLong };
}

/** The frame of a call has a size too: calls without arguments are not free. */
const CALL_FRAME = 64;

function sizeOf(block: Block): number {
  if (block.type === "text") return block.text.length;
  if (block.type === "thinking") return block.thinking.length;
  if (block.type === "image") return block.data.length;
  return CALL_FRAME + block.id.length + block.name.length + textSize(block.arguments);
}

/** The note follows the text and comes before calls: some providers refuse a text after a call. */
function withNote(content: readonly Block[], note: string): readonly Block[] {
  const at = content.findIndex((block) => block.type === "toolCall");
  const said = at === -1 ? content : content.slice(0, at);
  const last = said.at(-1);
  const noted: Block[] =
    last?.type === "text"
      ? [...said.slice(0, -1), { ...last, text: last.text + note }]
      : [...said, { type: "text", text: note.trimStart() }];
  return [...noted, ...content.slice(said.length)];
}

/**
 * Measures that make a context smaller without a model: long tool outputs are cut in the middle, images give way to their
 * placeholder. They change what the model is sent, never history, and are recorded in a compaction's entry, so that the
 * same history always builds the same context.
 */
import type { Block, Entry } from "../../../core/history/entry.ts";
import { fileOf } from "../../../core/history/file-block.ts";
import type { EntryId } from "../../../core/ids.ts";
import type { ModelMessage } from "../../../core/ports/model.ts";
import type { Measure } from "./compaction-details.ts";
import { IMAGE_PLACEHOLDER } from "./estimate-tokens.ts";

/** How much of a tool's output is left after a cut: the first, unless the outputs of one turn are too many for it. */
export const TRUNCATED_CHARS: readonly number[] = [2_000, 500, 100];

/** Cuts the middle out of a text: the ends usually matter most. */
export function cutText(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const head = Math.ceil(chars * 0.6);
  const tail = chars - head;
  const note = `\n[… ${text.length - chars} characters left out to save room …]\n`;
  return `${wholeCharacters(text.slice(0, head))}${note}${tail > 0 ? wholeCharacters(text.slice(-tail)) : ""}`;
}

/** Without half a character at an end: a cut may fall into the middle of one. */
const wholeCharacters = (text: string): string => text.toWellFormed().replace(/^\uFFFD|\uFFFD$/gu, "");

export function applyMeasure(message: ModelMessage, measure: Measure): ModelMessage {
  const content = message.content.map((block) => measured(message, block, measure));
  return content.every((block, index) => block === message.content[index]) ? message : { ...message, content };
}

function measured(message: ModelMessage, block: Block, measure: Measure): Block {
  if (measure.kind === "images") return withoutImage(block);
  if (message.role !== "tool" || block.type !== "text" || block.text.length <= measure.chars) return block;
  return { ...block, text: cutText(block.text, measure.chars) };
}

function withoutImage(block: Block): Block {
  if (block.type === "image") return { type: "text", text: IMAGE_PLACEHOLDER };
  if (block.type !== "text" || fileOf(block)?.as !== "image") return block;
  return { type: "text", text: `${block.text} ${IMAGE_PLACEHOLDER}` };
}

/** The measures that apply to each entry of a path: those that reach at least as far. */
export function measuresFor(
  path: readonly Entry[],
  measures: readonly Measure[],
): (index: number) => readonly Measure[] {
  if (measures.length === 0) return () => [];
  const places = new Map<EntryId, number>();
  path.forEach((entry, index) => {
    if (entry.type !== "session") places.set(entry.id, index);
  });
  const reach = measures.map((measure) => ({ measure, through: places.get(measure.through) ?? -1 }));
  return (index) => reach.flatMap(({ measure, through }) => (index <= through ? [measure] : []));
}

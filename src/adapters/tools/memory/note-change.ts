/** What `memory_write` may change, and what it makes of a note: a text is added at the end, or put in the place of another one. Pure. */
import { InvalidInputError } from "../../../core/errors.ts";
import { zonedFields } from "../../../core/zoned-time.ts";
import { MAX_FILE_CHARACTERS } from "../../../engine/context/prompt/system-prompt.ts";

/** The note that is part of every prompt of its person's agents. */
export const MAIN_NOTE = "MEMORY.md";
/** Of the note of a day. */
const MAX_DAY_NOTE = 200_000;

interface NoteChange {
  readonly text: string;
  /** The text that it replaces. Absent: it is added at the end. */
  readonly replaces?: string;
}

const DAY = /^(?:memory\/)?(\d{4}-\d\d-\d\d)(?:\.md)?$/u;

/** `MEMORY.md`, `today`, or a day as in 2026-11-03, also as the path of its file. */
export function isNote(note: string): boolean {
  if (note === "today" || note.toLowerCase() === MAIN_NOTE.toLowerCase()) return true;
  const [, day] = DAY.exec(note) ?? [];
  const at = Date.parse(`${day}T00:00:00Z`);
  return day !== undefined && !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
}

/** The path of what `isNote` accepts. */
export function notePathOf(note: string, now: number, zone: string): string {
  if (note.toLowerCase() === MAIN_NOTE.toLowerCase()) return MAIN_NOTE;
  const [, day = dayOf(now, zone)] = DAY.exec(note) ?? [];
  return `memory/${day}.md`;
}

function dayOf(now: number, zone: string): string {
  const { year, month, day } = zonedFields(now, zone);
  return [year, String(month).padStart(2, "0"), String(day).padStart(2, "0")].join("-");
}

/** Throws if there is nothing to change, if the old text does not occur exactly once, or if the note would become too large. */
export function changedNote(before: string | null, { text, replaces }: NoteChange, path: string): string {
  const after = replaces === undefined ? added(before ?? "", text) : replaced(before ?? "", replaces, text, path);
  const limit = path === MAIN_NOTE ? MAX_FILE_CHARACTERS : MAX_DAY_NOTE;
  // What no prompt shows is not written there: it would be lost without a sign.
  if (after.trim().length > limit && after.length > (before ?? "").length) {
    throw new InvalidInputError(`${path} would have ${after.trim().length} characters, and ${limit} is the limit.`, {
      hint:
        path === MAIN_NOTE ? "Shorten it first with `replaces`, or write to the note of the day." : "Shorten it first.",
    });
  }
  return after;
}

function added(before: string, text: string): string {
  if (text.trim() === "") throw new InvalidInputError("There is no text to add.");
  const start = before === "" || before.endsWith("\n") ? before : `${before}\n`;
  return `${start}${text.endsWith("\n") ? text : `${text}\n`}`;
}

function replaced(before: string, old: string, text: string, path: string): string {
  if (old === text) throw new InvalidInputError("The old and the new text are the same.");
  const parts = before.split(old);
  if (parts.length === 2) return parts.join(text);
  throw new InvalidInputError(
    parts.length === 1 ? `The old text is not in ${path}.` : `The old text is in ${path} ${parts.length - 1} times.`,
    { hint: parts.length === 1 ? "Read it again with memory_get." : "Include more of the text around it." },
  );
}

/**
 * How long a text from outside may be (M34). Longer messages of people become files, others are refused; longer tool results and answers are cut, and say so.
 * So every function that reads such a text has a bounded cost (L14).
 */
import { TooLargeError } from "./errors.ts";

export interface TextLimits {
  /** Of all texts in one message. */
  readonly messageCharacters: number;
  /** Of the text that one tool call returns to the model. A tool may have a lower limit of its own. */
  readonly toolResultCharacters: number;
  /** Of one answer of a model: text, thinking and the arguments of tool calls. */
  readonly answerCharacters: number;
}

export const DEFAULT_TEXT_LIMITS: TextLimits = {
  messageCharacters: 500_000,
  toolResultCharacters: 200_000,
  answerCharacters: 1_000_000,
};

/** The longest text that is read at all. A message that is longer than its own limit, and not than this, becomes a file. */
export const LONGEST_TEXT = 1_000_000;

/** How deep a value is counted. What is deeper counts as too long. */
const MAX_DEPTH = 64;

/** The characters of all strings in a value. Below its own fields the names count too: they may come from outside. */
export function textSize(value: unknown, depth = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  if (depth >= MAX_DEPTH) return Number.POSITIVE_INFINITY;
  let size = 0;
  if (Array.isArray(value)) for (const item of value) size += 1 + textSize(item, depth + 1);
  else {
    for (const [name, field] of Object.entries(value)) {
      size += (depth === 0 ? 0 : name.length) + textSize(field, depth + 1);
    }
  }
  return size;
}

/** The characters of all texts of a message. */
export const messageSize = (message: object): number => {
  const { kind: _kind, ...body } = message as { readonly kind?: unknown };
  return textSize(body);
};

/** A message that is too long is refused before anything reads it. `max`: characters of all its texts. */
export function assertMessageFits(body: object, max: number = DEFAULT_TEXT_LIMITS.messageCharacters): void {
  const size = messageSize(body);
  if (size <= max) return;
  throw new TooLargeError(`The message has ${size} characters; at most ${max} are accepted.`, {
    hint: max === LONGEST_TEXT ? "Send it as a file." : "Send it in parts, or as a file.",
  });
}

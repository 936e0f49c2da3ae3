/** How long texts from outside may be: messages, tool results, answers of models (M34). */
import { DEFAULT_TEXT_LIMITS, LONGEST_TEXT } from "../../core/text-limits.ts";
import { section, wholeNumber } from "../values.ts";

export const limitDefaults = DEFAULT_TEXT_LIMITS;

/** Every function that reads a text is measured at this length: with more, one text could delay the others (M34). */
export const MAX_CHARACTERS = LONGEST_TEXT;
/** An answer comes from a model that the owner chose. A longer one delays the others in proportion. */
const MAX_ANSWER = 4_000_000;

export const limitsSchema = section({
  /** Of one message. A longer one of a person becomes a file, any other is refused. */
  messageCharacters: wholeNumber(1_000, MAX_CHARACTERS).default(limitDefaults.messageCharacters),
  /** Of what one tool call returns. The rest goes to a file. */
  toolResultCharacters: wholeNumber(1_000, MAX_CHARACTERS).default(limitDefaults.toolResultCharacters),
  /** Of one answer of a model. A longer one is cut. */
  answerCharacters: wholeNumber(1_000, MAX_ANSWER).default(limitDefaults.answerCharacters),
}).prefault({});

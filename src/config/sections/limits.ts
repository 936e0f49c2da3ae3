/** How long texts from outside may be: messages, tool results, answers of models (M34). */
import { DEFAULT_TEXT_LIMITS } from "../../core/text-limits.ts";
import { section, wholeNumber } from "../values.ts";

export const limitDefaults = DEFAULT_TEXT_LIMITS;

/** The functions that read a text are measured at this length: with more, one text could delay the others. */
export const MAX_CHARACTERS = 4_000_000;

export const limitsSchema = section({
  /** Of one message. A longer one is refused. */
  messageCharacters: wholeNumber(1_000, MAX_CHARACTERS).default(limitDefaults.messageCharacters),
  /** Of what one tool call returns. The rest goes to a file. */
  toolResultCharacters: wholeNumber(1_000, MAX_CHARACTERS).default(limitDefaults.toolResultCharacters),
  /** Of one answer of a model. A longer one is cut. */
  answerCharacters: wholeNumber(1_000, MAX_CHARACTERS).default(limitDefaults.answerCharacters),
}).prefault({});

/** Thinking levels. Models support different ones; an unsupported level is an error. */
import { InvalidInputError } from "../../core/errors.ts";

export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

export const isThinkingLevel = (word: unknown): word is ThinkingLevel =>
  THINKING_LEVELS.some((level) => level === word);

/** Throws an `InvalidInputError` that lists the supported levels. */
export function checkThinking(model: string, possible: readonly ThinkingLevel[], wanted: string): ThinkingLevel {
  const level = possible.find((known) => known === wanted.trim().toLowerCase());
  if (level) return level;
  throw new InvalidInputError(`The model ${model} cannot think at the level "${wanted}".`, {
    hint: `Possible are: ${possible.join(", ")}.`,
  });
}

/** For a fallback model: the nearest supported level that is not higher, or the lowest one. */
export function nearestThinking(possible: readonly ThinkingLevel[], wanted: string): ThinkingLevel | undefined {
  const rank = (level: string): number => (THINKING_LEVELS as readonly string[]).indexOf(level);
  const limit = rank(wanted.trim().toLowerCase());
  return possible.findLast((level) => rank(level) <= limit) ?? possible[0];
}

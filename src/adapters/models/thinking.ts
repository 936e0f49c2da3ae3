/** How hard a model is to think. Which levels there are differs from model to model; asking for another is an error. */
import { InvalidInputError } from "../../core/errors.ts";

export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

export const isThinkingLevel = (word: unknown): word is ThinkingLevel =>
  THINKING_LEVELS.some((level) => level === word);

/** The level as the model can do it. Throws an `InvalidInputError` that lists the possible ones. */
export function checkThinking(model: string, possible: readonly ThinkingLevel[], wanted: string): ThinkingLevel {
  const level = possible.find((known) => known === wanted.trim().toLowerCase());
  if (level) return level;
  throw new InvalidInputError(`The model ${model} cannot think at the level "${wanted}".`, {
    hint: `Possible are: ${possible.join(", ")}.`,
  });
}

/** The nearest level a stand-in can do: not above what was wanted, unless it can do nothing less. */
export function nearestThinking(possible: readonly ThinkingLevel[], wanted: string): ThinkingLevel | undefined {
  const rank = (level: string): number => (THINKING_LEVELS as readonly string[]).indexOf(level);
  const limit = rank(wanted.trim().toLowerCase());
  return possible.findLast((level) => rank(level) <= limit) ?? possible[0];
}

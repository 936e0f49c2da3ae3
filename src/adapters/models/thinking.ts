/** Thinking levels. Models support different ones; a call uses the nearest level that its model supports (M47). */

export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

export const isThinkingLevel = (word: unknown): word is ThinkingLevel =>
  THINKING_LEVELS.some((level) => level === word);

/** The highest supported level that is not above the wanted one, or the lowest supported one. */
export function nearestThinking(possible: readonly string[], wanted: string): ThinkingLevel | undefined {
  const rank = (level: string): number => (THINKING_LEVELS as readonly string[]).indexOf(level);
  const limit = rank(wanted.trim().toLowerCase());
  const supported = THINKING_LEVELS.filter((level) => possible.includes(level));
  return supported.findLast((level) => rank(level) <= limit) ?? supported[0];
}

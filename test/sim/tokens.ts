/** The marks by which the outside follows a message through the program: `⟦t17⟧` in a message, `⟦r4⟧` in an answer. */
export const tokenText = (token: string): string => `⟦${token}⟧`;

export function tokensIn(text: string, kind: "t" | "r"): readonly string[] {
  const found = [...text.matchAll(/⟦([a-z]\d+)⟧/g)].map((match) => match[1] as string);
  return found.filter((token) => token.startsWith(kind));
}

/** What a message tells the scripted model to do, written behind its token. */
export const DIRECTIVES = [
  "tool:safe",
  "tool:never",
  "tool:slow",
  "tool:throw",
  "tool:send",
  "tool:big",
  "tool:unknown",
  /** Kills its node while it executes, once. */
  "tool:trip",
  /** Kills its node whenever it executes. */
  "tool:poison",
  /** Makes the agent talk to others: see agent-talk.ts. */
  "tool:tell",
  "tool:whisper",
  "tool:report",
  "tool:nobody",
  "tool:ask",
  "tool:askround",
  "tool:askback",
  "tool:contact",
  "tool:reply",
  "fail:transient",
  "fail:rate",
  /** Transient, but without end. */
  "fail:down",
  "fail:auth",
  "fail:request",
  "stall",
  /** The stream breaks off in the middle of an answer, once. */
  "fail:cut",
  /** Errors come after the first result of a tool, not at once; or after the second. */
  "late",
  "later",
  /** Tools are asked for one after the other, each in a turn of its own. */
  "chain",
  "overflow",
  "slow",
  "silent",
] as const;
export type Directive = (typeof DIRECTIVES)[number];

/** The directives of each token in a text, in order: they stand between their token and the next. */
export function directivesIn(text: string): ReadonlyMap<string, readonly Directive[]> {
  const found = new Map<string, readonly Directive[]>();
  for (const [, token, rest] of text.matchAll(/⟦(t\d+)⟧([^⟦]*)/g)) {
    if (token === undefined) continue;
    const words = (rest ?? "").split(/\s+/);
    found.set(
      token,
      DIRECTIVES.filter((directive) => words.includes(directive)),
    );
  }
  return found;
}

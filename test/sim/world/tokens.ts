/**
 * The marks that follow a message through the program: `⟦t17⟧` in a message, `⟦r4⟧` in an answer. A child has
 * the mark of its parent's message and its own number: `⟦s17_2⟧` is the second child that `⟦t17⟧` asked for.
 */
export const tokenText = (token: string): string => `⟦${token}⟧`;

/** A note about something that did not arrive quotes it: the marks there are not said again. */
const QUOTED = /This did not reach [^\n]*/gu;

export function tokensIn(text: string, kind: "t" | "r"): readonly string[] {
  const found = [...text.replaceAll(QUOTED, "").matchAll(/⟦([a-z]\d+)⟧/g)].map((match) => match[1] as string);
  return found.filter((token) => token.startsWith(kind));
}

/** The marks of children in a text. */
export const childMarksIn = (text: string): readonly string[] =>
  [...text.matchAll(/⟦(s[\d_]+)⟧/g)].map((match) => match[1] as string);

/** The marks of jobs in a text: `⟦j17⟧` is the job that `⟦t17⟧` asked for. */
export const jobMarksIn = (text: string): readonly string[] =>
  [...text.matchAll(/⟦(j\d+)⟧/g)].map((match) => match[1] as string);

/** The marks of text from the network: `⟦w17⟧` is what `⟦t17⟧` asked for. */
export const webMarksIn = (text: string): readonly string[] =>
  [...text.matchAll(/⟦(w[\d_]+)⟧/g)].map((match) => match[1] as string);

/** What a message tells the scripted model to do, written behind its token. */
export const DIRECTIVES = [
  "tool:safe",
  "tool:never",
  "tool:slow",
  /** Takes some seconds each time, and may be repeated. */
  "tool:steady",
  /** Takes longer than a trial, and may be repeated. */
  "tool:long",
  "tool:throw",
  "tool:send",
  "tool:big",
  "tool:unknown",
  /** Brings text from the network. */
  "tool:web",
  /** Is suspended the first time it executes, beside the other calls of its answer. */
  "tool:suspend",
  /** Needs a person's yes. */
  "tool:risky",
  /** Needs a grant, which may be taken away at any time. */
  "tool:act",
  /** Is called many times in one run, each time with a long output. */
  "tool:pages",
  /** Kills its node while it executes, once. */
  "tool:trip",
  /** Kills its node whenever it executes. */
  "tool:poison",
  /** Makes the agent talk to others: see talk.ts. */
  "tool:tell",
  "tool:whisper",
  "tool:report",
  "tool:missing",
  "tool:ask",
  "tool:askround",
  "tool:askback",
  "tool:contact",
  "tool:reply",
  /** Makes a job that is due once, soon. */
  "tool:job",
  "fail:transient",
  "fail:rate",
  /** Transient, but never ends. */
  "fail:down",
  "fail:auth",
  "fail:request",
  "stall",
  /** The stream breaks off in the middle of an answer, once. */
  "fail:cut",
  /** Errors come after the first result of a tool, not at once; or after the second. */
  "late",
  "later",
  /** Tools are called one after the other, each in a separate turn. */
  "chain",
  "overflow",
  /** Whoever takes the message finds that it cannot be handled, each time (M48). */
  "unhandled",
  "slow",
  "silent",
  /** Starts children: one, one that is slow, fails, stalls, kills its node, is deleted; twenty; a tree three deep. */
  "spawn",
  "spawn:slow",
  "spawn:fail",
  "spawn:stall",
  "spawn:poison",
  "spawn:delete",
  "spawn:many",
  "spawn:tree",
  "spawn:branch",
  /** A child that uses the tool that needs a right, after a while; and one whose child does. */
  "spawn:act",
  "spawn:acts",
  /** Waits for the children it has started. */
  "await",
  /** The message brings a file; an upload comes before it that no message names. */
  "file",
  "file:unused",
] as const;
export type Directive = (typeof DIRECTIVES)[number];

/** The directives of each token in a text, in order: the words between the token and the next one. */
export function directivesIn(text: string): ReadonlyMap<string, readonly Directive[]> {
  const found = new Map<string, readonly Directive[]>();
  for (const [, token, rest] of text.replaceAll(QUOTED, "").matchAll(/⟦([ts][\d_]+)⟧([^⟦]*)/g)) {
    if (token === undefined) continue;
    const words = (rest ?? "").split(/\s+/);
    found.set(
      token,
      DIRECTIVES.filter((directive) => words.includes(directive)),
    );
  }
  return found;
}

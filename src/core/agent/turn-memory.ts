/** What entered a turn of a conversation: the parts of its prompt, what did not fit, and what it looked up. */

export interface TurnPart {
  readonly part: string;
  readonly source: string;
  readonly characters: number;
  /** Estimated. */
  readonly tokens: number;
  /** Characters that may enter a prompt. Absent: as many as there are. */
  readonly limit?: number;
  /** Characters that did not fit. Absent: all of it is there. */
  readonly missing?: number;
  /** It was written while untrusted text was in context (M32). */
  readonly untrusted?: true;
}

export interface Lookup {
  readonly tool: string;
  readonly characters: number;
  readonly untrusted?: true;
}

export interface TurnMemory {
  readonly runId?: string;
  readonly characters: number;
  readonly tokens: number;
  readonly parts: readonly TurnPart[];
  /** What the run has looked up so far, in order. */
  readonly lookups: readonly Lookup[];
  /** Files that are not there, or are empty. */
  readonly absent: readonly string[];
}

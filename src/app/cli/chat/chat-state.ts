/**
 * What the chat knows about the open conversation. Plain data, and the two smallest changes of it; `apply-event.ts` has those of the
 * stream, `pending.ts` those of a message that this terminal sends.
 */
import type { Block } from "./blocks.ts";
import type { CleanText } from "./clean-text.ts";
import type { SplitText } from "./split-markdown.ts";

/** A run that has not ended. */
export interface Live {
  readonly runId: string;
  readonly startedAt: number;
  readonly text: SplitText;
  readonly thinking: string;
  readonly doing: "thinking" | "writing" | "tools" | "compacting" | "approval";
  /** The entry of this step is there: deltas that still come are in it. */
  readonly isCommitted: boolean;
}

interface Reply {
  readonly text: string;
  readonly isError: boolean;
}

/** How a message of this terminal ended. */
export interface Settled {
  readonly runId: string | null;
  readonly replies: readonly Reply[];
  readonly unanswered: { readonly reason: string; readonly failed: boolean } | null;
  /** The end of the history when it was settled: its entry stands before it. Null: it has no entry. */
  readonly historyEnd: number | null;
}

/** A message of this terminal that is not in the log yet. */
export interface Pending {
  readonly key: string;
  readonly text: CleanText;
  readonly state: "sending" | "accepted" | "held";
  readonly seq?: number;
  /** Where it went: what the queue does with it. */
  readonly will?: CleanText;
  /** It has ended; its entry has not arrived yet. */
  readonly settled?: Settled;
}

export interface ChatState {
  readonly blocks: readonly Block[];
  /** The position and the id of the last entry. */
  readonly position: number;
  readonly lastEntry?: string;
  readonly live?: Live;
  readonly pending: readonly Pending[];
  /** Runs whose end was shown, and messages whose entry was. */
  readonly ended: readonly string[];
  readonly seqs: readonly number[];
  /** An entry arrived that does not follow the last one: the history was branched and must be read again. */
  readonly isStale: boolean;
}

export const EMPTY_CHAT: ChatState = { blocks: [], position: 0, pending: [], ended: [], seqs: [], isStale: false };

/** Adds a block that is not in the history, once. */
export function withBlock(state: ChatState, block: Block): ChatState {
  if (state.blocks.some(({ key }) => key === block.key)) return state;
  return { ...state, blocks: [...state.blocks, block] };
}

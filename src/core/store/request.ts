/**
 * How a repeated HTTP request is recognised (M18). The ledger holds one row per `Idempotency-Key`, and one per content: the
 * latest request of a sender to a recipient that says the same. Keys are digests of the whole, so rows never collide.
 */
import type { AgentId } from "../ids.ts";

interface Entry {
  readonly key: string;
  /** From then on the row counts as absent. */
  readonly keepUntil: number;
}

/** A request with an `Idempotency-Key`. The same key with another digest is refused as a conflict. */
export interface KeyedEntry extends Entry {
  readonly by: "key";
  /** A digest of the content of a message, otherwise of route and body. */
  readonly digest: string;
}

/** A request without a key. The row always belongs to the latest such request. */
export interface ContentEntry extends Entry {
  readonly by: "content";
  /** Whether the client marked it as a retry. */
  readonly isRetry: boolean;
}

export type RequestEntry = KeyedEntry | ContentEntry;

/** A row of the ledger. */
export interface RequestRecord {
  readonly key: string;
  readonly digest?: string;
  /** The message that the request posted, if it posted one. */
  readonly message?: { readonly agentId: AgentId; readonly seq: number };
  /** Whether all of the response was sent. */
  readonly finished: boolean;
  /** Whether the same agent has accepted a later message of a person. */
  readonly later: boolean;
  /** Whether the message waits, or belongs to a run that has not ended. */
  readonly open: boolean;
  /** The reply, as JSON, if it was recorded. */
  readonly reply?: string;
  readonly keepUntil: number;
}

/**
 * Whether a request without a key is the earlier one with the same content, sent again. A marked retry is, unless its
 * response was finished and a later message was accepted. An unmarked one is only while the response is not known to be
 * finished, and the message is open or there is no later one: otherwise a person says the same words once more.
 */
export function joinsEarlier({
  isRetry,
  finished,
  later,
  open,
}: Pick<ContentEntry, "isRetry"> & Pick<RequestRecord, "finished" | "later" | "open">): boolean {
  return isRetry ? !(finished && later) : !finished && (open || !later);
}

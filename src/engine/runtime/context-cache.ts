/**
 * The context of an agent's current session in memory, kept in step with its history by the lease. The interface is
 * here so that the lease does not depend on how a context is built; `engine/context` implements it.
 */
import type { Entry } from "../../core/history/entry.ts";
import type { EntryId } from "../../core/ids.ts";
import type { ModelMessage } from "../../core/ports/model.ts";
import type { ContextBounds } from "./live-run.ts";

export interface ContextCache {
  /** The messages of the session that ends at this leaf. Reads history the first time only. */
  messages(leaf: EntryId): Promise<readonly ModelMessage[]>;
  /** The entries these messages come from, oldest first, with the last compaction. Always reads history. */
  path(leaf: EntryId): Promise<readonly Entry[]>;
  /** Undefined until the messages have been read. */
  readonly size: ContextSize | undefined;
  /** Estimated tokens of the instructions and the tool schemas; undefined until a run has resolved them. */
  overhead: number | undefined;
  /** The limits of the last run that did not override the model; undefined if they must be resolved. */
  bounds: ContextBounds | undefined;
  /** These entries were committed behind the leaf. */
  append(entries: readonly Entry[]): void;
  /** A new session begins: it has no messages yet. */
  clear(): void;
}

/** The size of a context in tokens. */
export interface ContextSize {
  /** The provider's last count of everything that was sent, instructions and tools included. */
  readonly counted: number | undefined;
  /** The estimate of what was appended after that count. */
  readonly since: number;
  /** The estimate of all messages. */
  readonly all: number;
}

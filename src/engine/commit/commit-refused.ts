/**
 * The error of a commit that was not applied, or whose outcome is unknown. Memory then differs from the store (M2), and
 * `afterRefusal` is the one table of what the holder of the lease does next.
 */
import { RookeryError } from "../../core/errors.ts";
import type { Refusal } from "../../core/store/change.ts";

export class CommitRefused extends RookeryError {
  readonly code = "commit_refused";
  readonly retryable: boolean;
  readonly refused: Refusal | "unknown";

  constructor(refused: Refusal | "unknown", detail: string, cause?: unknown) {
    super(detail, { cause });
    this.refused = refused;
    this.retryable = afterRefusal(this) === "reload";
  }
}

/**
 * - `reload`: the store has changed or the outcome is unknown. Drop what is in memory and read it again.
 * - `stop`: the run, its agent or an ancestor must end. End the run; nothing new starts.
 * - `yield`: another node or a later claim holds the agent. Commit nothing more.
 * - `rethrow`: not a refusal.
 */
export function afterRefusal(error: unknown): "reload" | "stop" | "yield" | "rethrow" {
  if (!(error instanceof CommitRefused)) return "rethrow";
  switch (error.refused) {
    case "fenced":
      return "yield";
    case "aborted":
    case "stopped":
      return "stop";
    case "session":
    case "run":
    case "missing":
    case "cycle":
    case "full":
    case "conflict":
    case "rights":
    case "unknown":
      return "reload";
  }
}

/** Whether an op named something that has changed or no longer exists. The same commit with fresh ops may succeed. */
export const isOutdated = (error: unknown): error is CommitRefused =>
  error instanceof CommitRefused && (error.refused === "missing" || error.refused === "conflict");

/** What the steps of a rebuild share, and how they report that a plain file could not be used as it is. */
import type { Database } from "../sqlite/database.ts";
import type { MirrorFiles } from "./mirror-files.ts";

export interface RestoreContext {
  readonly db: Database;
  readonly files: MirrorFiles;
  readonly report: (problem: RestoreProblem) => void;
  /** Copies a file that cannot be used, before the mirror overwrites it. */
  readonly keep: (path: string) => void;
}

/** Where, why, and what was done about it. */
export interface RestoreProblem {
  /** Relative to the home. */
  readonly file: string;
  /** Counted from 1, if the problem is in a single line. */
  readonly line?: number;
  readonly reason: string;
  readonly consequence:
    | "agent-skipped"
    | "state-lost"
    | "line-skipped"
    | "line-repaired"
    | "file-skipped"
    | "item-skipped";
  /** A stable code if a typed error was the cause. */
  readonly code?: string;
}

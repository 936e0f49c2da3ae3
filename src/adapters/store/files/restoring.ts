/** What the steps of a rebuild share, and how they say that something among the plain files could not be used as it is. */
import type { Database } from "../sqlite/database.ts";
import type { MirrorFiles } from "./mirror-files.ts";

export interface Restoring {
  readonly db: Database;
  readonly files: MirrorFiles;
  readonly report: (problem: RestoreProblem) => void;
  /** Copies a file that cannot be used, before the mirror writes over it. */
  readonly keep: (path: string) => void;
}

/** Where, why, and what became of it. */
export interface RestoreProblem {
  /** Relative to the home. */
  readonly file: string;
  /** Counted from 1, where a single line is meant. */
  readonly line?: number;
  readonly reason: string;
  readonly consequence: "agent-skipped" | "line-skipped" | "line-repaired" | "file-skipped" | "item-skipped";
  /** A stable code where a typed error was the cause. */
  readonly code?: string;
}

/** One end of a copy: a database whose tables can be read in order and written in portions. */
import type { CopiedRow, CopiedTable } from "./tables.ts";

export interface CopyEnd {
  /** For messages: never an address with a password. */
  readonly describe: string;
  isEmpty(): Promise<boolean>;
  /** All rows in the order of the table's key, in portions. */
  read(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>;
  /** Durable only after `finish`. */
  write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
  /** Makes all written rows durable at once, and sets the sequences behind them. */
  finish(): Promise<void>;
  /** Rolls back rows that were written and not finished. */
  close(): Promise<void>;
}

export const PORTION = 2_000;

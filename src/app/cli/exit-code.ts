/** The exit codes, and which error leads to which. An error that came over the API has the code of the original one. */
import { RookeryError } from "../../core/errors.ts";

export const EXIT = { ok: 0, failure: 1, usage: 2, configuration: 3, store: 4 } as const;

const CODES: Readonly<Record<string, number>> = {
  usage: EXIT.usage,
  invalid_input: EXIT.usage,
  too_large: EXIT.usage,
  config: EXIT.configuration,
  commit_unknown: EXIT.store,
  corrupt_data: EXIT.store,
  home_locked: EXIT.store,
  migration: EXIT.store,
  store_closed: EXIT.store,
  store_full: EXIT.store,
  store_lost: EXIT.store,
  store_missing: EXIT.store,
  store_newer: EXIT.store,
  store_unavailable: EXIT.store,
  store_unreadable: EXIT.store,
  store_unsuitable: EXIT.store,
};

export const exitCodeOf = (error: unknown): number =>
  error instanceof RookeryError ? (CODES[error.code] ?? EXIT.failure) : EXIT.failure;

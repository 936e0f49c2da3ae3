/** The exit codes, and which error leads to which. */
import {
  CommitUnknownError,
  ConfigError,
  CorruptDataError,
  HomeLockedError,
  MigrationError,
  StoreClosedError,
  StoreFullError,
  StoreLostError,
  StoreNewerError,
  StoreUnavailableError,
  StoreUnreadableError,
  StoreUnsuitableError,
  UsageError,
} from "../../core/errors.ts";

export const EXIT = { ok: 0, failure: 1, usage: 2, configuration: 3, store: 4 } as const;

const STORE_ERRORS = [
  CommitUnknownError,
  CorruptDataError,
  HomeLockedError,
  MigrationError,
  StoreClosedError,
  StoreFullError,
  StoreLostError,
  StoreNewerError,
  StoreUnavailableError,
  StoreUnreadableError,
  StoreUnsuitableError,
];

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof ConfigError) return EXIT.configuration;
  if (STORE_ERRORS.some((kind) => error instanceof kind)) return EXIT.store;
  return EXIT.failure;
}

/**
 * Typed errors: one class per decision a caller can take. Each has a stable code, says whether a retry makes sense, keeps its
 * cause, and tells the reader what to do next. Expected outcomes are returned, not thrown.
 */
import { oneStop } from "./sentence.ts";

export interface ErrorOptions {
  readonly cause?: unknown;
  /** The next step for the person who reads this. Shown after the message. */
  readonly hint?: string;
}

export abstract class RookeryError extends Error {
  abstract readonly code: string;
  /** Whether the same call may succeed later without anything being changed by a person. */
  abstract readonly retryable: boolean;
  readonly hint: string | undefined;

  constructor(message: string, options: ErrorOptions = {}) {
    super(oneStop(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.hint = options.hint && oneStop(options.hint);
  }
}

/** Input from outside has a wrong form. */
export class InvalidInputError extends RookeryError {
  readonly code = "invalid_input";
  readonly retryable = false;
}

/** A text from outside is longer than its limit. The message names the limit. */
export class TooLargeError extends RookeryError {
  readonly code = "too_large";
  readonly retryable = false;
}

/** The configuration file is not valid; the message names file and line. */
export class ConfigError extends RookeryError {
  readonly code = "config";
  readonly retryable = false;
}

/** A command line that cannot be understood. */
export class UsageError extends RookeryError {
  readonly code = "usage";
  readonly retryable = false;
}

/** The requested thing does not exist. */
export class NotFoundError extends RookeryError {
  readonly code = "not_found";
  readonly retryable = false;
}

/** Another writer changed it first. Read it again before the next attempt. */
export class ConflictError extends RookeryError {
  readonly code = "conflict";
  readonly retryable = true;
}

/** Too many messages wait at the agent. The message was not stored (M18a). */
export class QueueFullError extends RookeryError {
  readonly code = "queue_full";
  readonly retryable = true;
  readonly retryAfterMs = 5_000;
}

/** The caller is not allowed to do this. */
export class DeniedError extends RookeryError {
  readonly code = "denied";
  readonly retryable = false;
}

/** Another process holds this home. */
export class HomeLockedError extends RookeryError {
  readonly code = "home_locked";
  readonly retryable = true;
}

/** Another engine runs on this home. A program that uses the library connects to it instead. */
export class HomeInUseError extends RookeryError {
  readonly code = "HOME_IN_USE";
  readonly retryable = true;
}

/** The database cannot be read. Nothing was changed; use `rookery engine repair`. */
export class StoreUnreadableError extends RookeryError {
  readonly code = "store_unreadable";
  readonly retryable = false;
}

/** The server of a model provider cannot be reached or does not answer as it should. */
export class ProviderUnavailableError extends RookeryError {
  readonly code = "provider_unavailable";
  readonly retryable = true;
}

/** The server of a channel cannot be reached or does not answer as it should. */
export class ChannelUnavailableError extends RookeryError {
  readonly code = "channel_unavailable";
  readonly retryable = true;
}

/** A server that tools use, such as one of MCP, cannot be reached now. */
export class ServerUnavailableError extends RookeryError {
  readonly code = "server_unavailable";
  readonly retryable = true;
}

/** There is no database here yet. */
export class StoreMissingError extends RookeryError {
  readonly code = "store_missing";
  readonly retryable = false;
}

/** The database was written by a newer version of the program. */
export class StoreNewerError extends RookeryError {
  readonly code = "store_newer";
  readonly retryable = false;
}

/** A migration failed; the database is as it was before. */
export class MigrationError extends RookeryError {
  readonly code = "migration";
  readonly retryable = false;
}

/** The disk is full, read-only or forbidden. The change was not stored; it may be tried again later. */
export class StoreFullError extends RookeryError {
  readonly code = "store_full";
  readonly retryable = true;
}

/**
 * The files of the home were deleted, moved or replaced while the process runs: what it stores now would not be found again.
 * Nothing is acknowledged until they are back.
 */
export class StoreLostError extends RookeryError {
  readonly code = "store_lost";
  readonly retryable = true;
}

/** A shared database does not answer or cannot be written now. The change was not stored. */
export class StoreUnavailableError extends RookeryError {
  readonly code = "store_unavailable";
  readonly retryable = true;
}

/** A database, or a proxy in front of it, that this program cannot work with. */
export class StoreUnsuitableError extends RookeryError {
  readonly code = "store_unsuitable";
  readonly retryable = false;
}

/** The store is being closed or was closed. */
export class StoreClosedError extends RookeryError {
  readonly code = "store_closed";
  readonly retryable = false;
}

/**
 * The outcome of a commit is unknown. The caller drops what it has in memory and asks the store for the change's outcome
 * before it continues (M2).
 */
export class CommitUnknownError extends RookeryError {
  readonly code = "commit_unknown";
  readonly retryable = true;
}

/** Stored data has a form this program does not accept (a bad descriptor, a broken line). It is kept unchanged. */
export class CorruptDataError extends RookeryError {
  readonly code = "corrupt_data";
  readonly retryable = false;
}

/** A wait reached its time limit. */
export class TimeoutError extends RookeryError {
  readonly code = "timeout";
  readonly retryable = true;
}

/** This wait would close a cycle of agents that wait for each other. */
export class WaitCycleError extends RookeryError {
  readonly code = "wait_cycle";
  readonly retryable = false;
}

/** The waiting caller was aborted and no longer needs an answer. */
export class AbortedError extends RookeryError {
  readonly code = "aborted";
  readonly retryable = false;
}

/** The program stops. The work is suspended and continues after the restart. */
export class SuspendedError extends RookeryError {
  readonly code = "set_aside";
  readonly retryable = true;
}

/** An internal rule was broken: a bug. */
export class InvariantError extends RookeryError {
  readonly code = "invariant";
  readonly retryable = false;
}

/** The message of any thrown value, for logs and for people. */
export const errorText = (error: unknown): string => textAt(error, 0);

function textAt(error: unknown, depth: number): string {
  if (error instanceof RookeryError && error.hint) return `${error.message} ${error.hint}`;
  if (!(error instanceof Error)) return String(error);
  if (depth === MAX_DEPTH) return error.message || error.name;
  // `fetch` keeps the reason in the cause, and Node gives no message to an error of all addresses of a name.
  if (error.message === "fetch failed" && error.cause !== undefined)
    return `${error.message}: ${textAt(error.cause, depth + 1)}`;
  if (error.message !== "") return error.message;
  const { errors, code = error.name } = error as Error & { errors?: unknown; code?: unknown };
  const texts = Array.isArray(errors) ? errors.slice(0, MAX_ERRORS).map((one) => textAt(one, depth + 1)) : [];
  return [...new Set(texts)].join(", ") || String(code);
}

const MAX_DEPTH = 3;
const MAX_ERRORS = 4;

/** Ends an exhaustive switch. The compiler proves that it is not reached; wrong data from outside may still reach it. */
export function unreachable(value: never, what: string): never {
  throw new InvariantError(`Unexpected ${what}: ${JSON.stringify(value)}`);
}

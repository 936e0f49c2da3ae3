/**
 * Group commit: changes that are ready at the same moment share one transaction and one disk flush, so that durability does
 * not cost a flush per message. Batches are bounded, because a synchronous commit blocks the event loop while it runs.
 * SQLite writes its log (WAL) without flushing it; the flush happens here, off the main thread, before a commit is answered.
 */
import { closeSync, fdatasync, openSync } from "node:fs";
import { CommitUnknownError, StoreClosedError, StoreFullError, type StoreLostError } from "../../../core/errors.ts";
import type { Change, CommitResult } from "../../../core/store/change.ts";
import { applyGroup } from "./apply-change.ts";
import type { Database } from "./database.ts";
import { explainDiskError, isDiskError, isFullError } from "./disk-error.ts";
import { freeBytes, hasNoRoom, logPagesFor } from "./disk-room.ts";

/** Small enough that one batch is applied while the one before it is being flushed. */
const MAX_BATCH = 64;
/** In groups. The room is cheap to look up, but not needed at every commit. */
const LOOK_AT_ROOM_EVERY = 256;

interface Queued {
  readonly change: Change;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupCommit {
  commit(change: Change): Promise<CommitResult>;
  /** The error of the last commit, if it found the disk full. */
  full(): StoreFullError | undefined;
  /** Commits and flushes what is queued, and rejects later commits. */
  close(): Promise<void>;
}

interface GroupCommitOptions {
  readonly maxBatch?: number;
  /** Makes the log durable. Absent: a commit is answered as soon as it is written. */
  readonly log?: LogFlush;
  /** Called after each group that changed something: the plain files follow it. */
  readonly onCommitted?: () => void;
  /** Where the database is. Absent: in memory. */
  readonly directory?: string;
  /** Called when the disk becomes full, and when a commit succeeds again. */
  readonly onFull?: (error: StoreFullError) => void;
  readonly onRoom?: () => void;
  /** Whether the files are no longer those that were opened. Asked before a group is applied and again before it is answered. */
  readonly lost?: () => StoreLostError | undefined;
  /** Called when the disk fails at a commit. What it holds is unknown, so the process must end (M2). */
  readonly onFatal: (error: unknown) => void;
}

export function groupCommit(db: Database, options: GroupCommitOptions): GroupCommit {
  const maxBatch = options.maxBatch ?? MAX_BATCH;
  const answers = makeAnswers(options);
  let queue: Queued[] = [];
  let scheduled = false;
  let closed = false;
  let groups = 0;
  let unflushed = 0;
  let whenFlushed: (() => void) | undefined;

  const commitBatch = (): void => {
    scheduled = false;
    const batch = queue.length <= maxBatch ? queue : queue.slice(0, maxBatch);
    queue = batch === queue ? [] : queue.slice(maxBatch);
    if (queue.length > 0) schedule();
    if (batch.length === 0) return;
    const lost = options.lost?.();
    if (lost) {
      for (const queued of batch) queued.reject(lost);
      return;
    }
    let results: (CommitResult | Error)[];
    try {
      results = applyMakingRoom(
        db,
        batch.map((queued) => queued.change),
      );
      groups += 1;
      if (groups % LOOK_AT_ROOM_EVERY === 0 && options.directory !== undefined) fitLog(db, options.directory);
    } catch (error) {
      answers.fail(batch, error);
      return;
    }
    if (!options.log) {
      answers.answer(batch, results);
      return;
    }
    unflushed += 1;
    options.log.flush((error) => {
      unflushed -= 1;
      if (error) answers.fail(batch, error);
      else answers.answer(batch, results);
      if (unflushed === 0) whenFlushed?.();
    });
  };
  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(commitBatch);
  };

  return {
    commit(change) {
      if (closed) return Promise.reject(new StoreClosedError("The store is closed."));
      return new Promise((resolve, reject) => {
        queue.push({ change, resolve, reject });
        schedule();
      });
    },
    full: answers.full,
    async close() {
      closed = true;
      while (queue.length > 0) commitBatch();
      if (unflushed > 0) await new Promise<void>((resolve) => (whenFlushed = resolve));
    },
  };
}

interface Answers {
  /** The group is applied and flushed. */
  answer(batch: readonly Queued[], results: readonly (CommitResult | Error)[]): void;
  /** The disk failed while the group was applied or flushed. */
  fail(batch: readonly Queued[], error: unknown): void;
  /** The error of the last group, if it found the disk full. */
  full(): StoreFullError | undefined;
}

/** Answers the callers of each group, and reports that the disk fails, is full, or has room again. */
function makeAnswers(options: GroupCommitOptions): Answers {
  let full: StoreFullError | undefined;

  const answer: Answers["answer"] = (batch, results) => {
    const lost = options.lost?.();
    if (lost) {
      // They were applied to files that may come back.
      const unknown = new CommitUnknownError(lost.message, { cause: lost, hint: lost.hint });
      for (const queued of batch) queued.reject(unknown);
      return;
    }
    const failed: Queued[] = [];
    let diskError: Error | undefined;
    batch.forEach((queued, index) => {
      const result = results[index];
      if (result !== undefined && !(result instanceof Error)) queued.resolve(result);
      else if (isDiskError(result)) {
        failed.push(queued);
        diskError = result;
      } else queued.reject(result);
    });
    options.onCommitted?.();
    if (full && !diskError) {
      full = undefined;
      options.onRoom?.();
    }
    if (diskError) fail(failed, diskError);
  };
  const fail: Answers["fail"] = (batch, error) => {
    const isFull = options.directory !== undefined && hasNoRoom(options.directory);
    const { explained, fatal } = explainDiskError(error, isFull);
    for (const queued of batch) queued.reject(explained);
    if (fatal) options.onFatal(explained);
    else if (explained instanceof StoreFullError) {
      if (!full) options.onFull?.(explained);
      full = explained;
    }
  };
  return { answer, fail, full: () => full };
}

/**
 * Applies a group. What fills the disk may be the log itself: its pages belong into the database, and the room is free again.
 * After any other error of the disk the outcome is unknown, and a second try could apply the changes twice (M2).
 */
function applyMakingRoom(db: Database, changes: readonly Change[]): (CommitResult | Error)[] {
  try {
    return applyGroup(db, changes);
  } catch (error) {
    if (!isFullError(error) || !checkpoint(db)) throw error;
    return applyGroup(db, changes);
  }
}

/** Moves the pages of the log into the database and gives its room back. False if that is not possible now. */
function checkpoint(db: Database): boolean {
  try {
    const result = db.sql.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number; log: number } | undefined;
    return result?.busy === 0;
  } catch {
    return false;
  }
}

/** The log may take a share of the room that is free now. */
function fitLog(db: Database, directory: string): void {
  db.sql.exec(`PRAGMA wal_autocheckpoint = ${logPagesFor(freeBytes(directory))}`);
}

interface LogFlush {
  /** Calls back when everything written to the log so far is on the disk, or with the disk's error. */
  flush(done: (error: Error | null) => void): void;
  close(): void;
}

/**
 * One flush covers every commit written before it began. SQLite still flushes around checkpoints, so the database file
 * stays consistent.
 */
export function openLogFlush(databasePath: string): LogFlush {
  const fd = openSync(`${databasePath}-wal`, "r+");
  let waiting: ((error: Error | null) => void)[] = [];
  let flushing = false;

  const start = (): void => {
    flushing = true;
    const covered = waiting;
    waiting = [];
    fdatasync(fd, (error) => {
      flushing = false;
      if (waiting.length > 0) start();
      for (const done of covered) done(error);
    });
  };

  return {
    flush(done) {
      waiting.push(done);
      if (!flushing) start();
    },
    close: () => closeSync(fd),
  };
}

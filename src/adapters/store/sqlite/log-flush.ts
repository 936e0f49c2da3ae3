/**
 * Makes commits durable without holding the event loop: SQLite writes its log (WAL) without flushing it, and the flush is
 * done here, off the main thread, before anybody is told that a commit has happened. One flush covers every commit that
 * was written before it began. SQLite itself still flushes around checkpoints, so the file stays consistent.
 */
import { closeSync, fdatasync, openSync } from "node:fs";

export interface LogFlush {
  /** Calls back when everything written to the log so far is on the disk, or with the disk's error. */
  flush(done: (error: Error | null) => void): void;
  close(): void;
}

export function openLogFlush(databasePath: string): LogFlush {
  const fd = openSync(`${databasePath}-wal`, "r+");
  let waiting: ((error: Error | null) => void)[] = [];
  let underWay = false;

  const start = (): void => {
    underWay = true;
    const covered = waiting;
    waiting = [];
    fdatasync(fd, (error) => {
      underWay = false;
      if (waiting.length > 0) start();
      for (const done of covered) done(error);
    });
  };

  return {
    flush(done) {
      waiting.push(done);
      if (!underWay) start();
    },
    close: () => closeSync(fd),
  };
}

/**
 * The mirror's thread. It wakes when it is told that something was committed, works until it is in step, brings the files
 * to the disk some seconds later, and sleeps: no timer runs while nothing happens.
 */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { errorText, InvariantError } from "../../../core/errors.ts";
import { diskFiles } from "./disk-files.ts";
import { type Mirror, type MirrorLag, openMirror } from "./mirror.ts";
import { noticeText } from "./mirror-notice.ts";
import { sqliteSource } from "./sqlite-source.ts";

export interface WorkerData {
  readonly home: string;
  readonly databasePath: string;
  /** How long after the first unsynced write everything is brought to the disk. */
  readonly syncAfterMs: number;
}

export type ToWorker =
  | { readonly type: "nudge" }
  | { readonly type: "flush"; readonly id: number }
  | { readonly type: "stop"; readonly id: number };

export type FromWorker =
  | { readonly type: "lag"; readonly lag: MirrorLag; readonly tookMs: number }
  | { readonly type: "notice"; readonly text: string }
  | { readonly type: "trouble"; readonly error: string }
  | { readonly type: "done"; readonly id: number; readonly error?: { readonly text: string; readonly code?: string } };

const MAX_RETRY_MS = 30_000;

function main(): void {
  const port = parentPort;
  if (!port) throw new InvariantError("The mirror's thread was started as a program.");
  const { home, databasePath, syncAfterMs } = workerData as WorkerData;
  const tell = (message: FromWorker): void => port.postMessage(message);
  const sql = new DatabaseSync(databasePath, { readOnly: true, timeout: 5_000 });
  let mirror: Mirror | undefined;
  let working = false;
  let syncTimer: NodeJS.Timeout | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let retryMs = 1_000;

  const opened = (): Mirror => {
    mirror ??= openMirror({
      source: sqliteSource(sql),
      files: diskFiles(home),
      now: Date.now,
      report: (notice) => tell({ type: "notice", text: noticeText(notice) }),
    });
    return mirror;
  };

  /** Steps until in step, giving way to messages in between. */
  const work = (): void => {
    if (working) return;
    working = true;
    const portion = (): void => {
      working = false;
      attempt(() => {
        const { more } = stepped();
        if (!more) return;
        working = true;
        setImmediate(portion);
      });
    };
    portion();
  };

  const stepped = (): { more: boolean } => {
    const begun = performance.now();
    const result = opened().step();
    tell({ type: "lag", lag: opened().lag(), tookMs: performance.now() - begun });
    if (opened().unsynced()) syncTimer ??= setTimeout(() => attempt(sync), syncAfterMs);
    return result;
  };

  const sync = (): void => {
    clearTimeout(syncTimer);
    syncTimer = undefined;
    opened().sync();
  };

  /** A disk that fails now may work later: said once, tried again at growing intervals. */
  const attempt = (act: () => void): void => {
    try {
      act();
      retryMs = 1_000;
    } catch (error) {
      tell({ type: "trouble", error: errorText(error) });
      retryTimer ??= setTimeout(() => {
        retryTimer = undefined;
        work();
      }, retryMs);
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    }
  };

  const finish = (id: number, act: () => void): void => {
    try {
      act();
      tell({ type: "done", id });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      tell({ type: "done", id, error: { text: errorText(error), ...(code === undefined ? {} : { code }) } });
    }
  };

  port.on("message", (message: ToWorker) => {
    switch (message.type) {
      case "nudge":
        return work();
      case "flush":
        return finish(message.id, () => {
          while (stepped().more);
          sync();
        });
      case "stop":
        finish(message.id, () => {
          while (stepped().more);
          clearTimeout(syncTimer);
          opened().close();
        });
        clearTimeout(syncTimer);
        clearTimeout(retryTimer);
        sql.close();
        port.close();
    }
  });
  work();
}

main();

/**
 * The work of the mirror's thread. A message about a commit wakes it; it works until the files are up to date, flushes them to the disk
 * some seconds later, and sleeps. No timer runs while there is nothing to do.
 */
import { DatabaseSync } from "node:sqlite";
import type { MessagePort } from "node:worker_threads";
import { errorText, StoreLostError } from "../../../core/errors.ts";
import { useHome } from "../../system/make-directory.ts";
import type { ThreadAnswer } from "../../system/thread.ts";
import { type HomeFiles, type HomeIdentity, homeFiles } from "../sqlite/home-files.ts";
import { diskFiles } from "./disk-files.ts";
import { type Mirror, type MirrorLag, openMirror } from "./mirror.ts";
import { noticeText } from "./mirror-notice.ts";
import { sqliteSource } from "./sqlite-source.ts";

export interface WorkerData {
  readonly home: string;
  readonly databasePath: string;
  /** How long after the first unsynced write everything is flushed to the disk. */
  readonly syncAfterMs: number;
  /** The size in bytes above which a history at rest is archived. */
  readonly archiveAbove?: number;
  /** The files the store opened. A home that was replaced has its own plain files. */
  readonly identity: HomeIdentity | undefined;
}

export interface MirrorQuestion {
  readonly type: "flush" | "stop";
}
export type ToWorker = { readonly type: "nudge" } | (MirrorQuestion & { readonly id: number });

export type MirrorNote =
  | { readonly type: "lag"; readonly lag: MirrorLag; readonly tookMs: number }
  | { readonly type: "notice"; readonly text: string }
  | { readonly type: "trouble"; readonly error: string };
type FromWorker = MirrorNote | ThreadAnswer;

/** The used part of a `MessagePort`. */
type Port = Pick<MessagePort, "on" | "postMessage" | "close">;

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

/**
 * Completes the files in the caller's thread, which has loaded most of the code already. Returns false if that takes longer than
 * `withinMs`. Throws if the home is lost or the disk fails. Then a thread of its own continues.
 */
export function completeWithin(data: WorkerData, withinMs: number, report: (notice: string) => void): boolean {
  const lost = data.identity && homeFiles(data.home, data.identity).lost();
  if (lost) throw lost;
  const { sql, mirror } = openFiles(data, report);
  try {
    const end = performance.now() + withinMs;
    while (mirror.step().more) if (performance.now() > end) return false;
    mirror.close();
    return true;
  } finally {
    sql.close();
  }
}

function openFiles({ home, databasePath, archiveAbove }: WorkerData, report: (notice: string) => void) {
  const sql = new DatabaseSync(databasePath, { readOnly: true, timeout: 5_000 });
  const mirror = openMirror({
    source: sqliteSource(sql),
    files: diskFiles(home),
    now: Date.now,
    archiveAbove,
    report: (notice) => report(noticeText(notice)),
  });
  return { sql, mirror };
}

export class MirrorWorker {
  readonly #port: Port;
  readonly #data: WorkerData;
  readonly #home: HomeFiles | undefined;
  #files: ReturnType<typeof openFiles> | undefined;
  #working = false;
  #stopped = false;
  #syncTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #leave = (): void => {};

  constructor(port: Port, data: WorkerData) {
    this.#port = port;
    this.#data = data;
    this.#home = data.identity && homeFiles(data.home, data.identity);
    port.on("message", (message: ToWorker) => this.#receive(message));
    // The thread has its own list of homes.
    if (data.identity) this.#leave = useHome(data.home);
  }

  /** Steps until the files are up to date, and handles messages in between. */
  work(): void {
    if (this.#working || this.#stopped) return;
    this.#attempt(() => {
      const { more, pauseMs } = this.#step();
      if (!more) return;
      this.#working = true;
      const goOn = (): void => {
        this.#working = false;
        this.work();
      };
      if (pauseMs === 0) setImmediate(goOn);
      else setTimeout(goOn, pauseMs);
    });
  }

  #send(message: FromWorker): void {
    this.#port.postMessage(message);
  }

  #receive(message: ToWorker): void {
    switch (message.type) {
      case "nudge":
        this.work();
        return;
      case "flush":
        this.#finish(message.id, () => {
          while (this.#step().more);
          this.#sync();
        });
        return;
      case "stop":
        this.#finish(message.id, () => {
          while (this.#step().more);
          this.#opened().close();
        });
        // A portion may still be scheduled.
        this.#stopped = true;
        clearTimeout(this.#syncTimer);
        clearTimeout(this.#retryTimer);
        this.#files?.sql.close();
        this.#leave();
        this.#port.close();
    }
  }

  /** Throws if the home is no longer the one that was opened: its files must not be recreated or mixed with others. */
  #opened(): Mirror {
    const lost = this.#home?.lost();
    if (lost) throw lost;
    this.#files ??= openFiles(this.#data, (text) => this.#send({ type: "notice", text }));
    return this.#files.mirror;
  }

  /** Whether there is more to do, and after which pause: a pass over all agents leaves half of the time to the engine. */
  #step(): { readonly more: boolean; readonly pauseMs: number } {
    const begun = performance.now();
    const mirror = this.#opened();
    const { more, isPass } = mirror.step();
    const tookMs = performance.now() - begun;
    this.#send({ type: "lag", lag: mirror.lag(), tookMs });
    if (mirror.unsynced())
      this.#syncTimer ??= setTimeout(() => this.#attempt(() => this.#sync()), this.#data.syncAfterMs);
    return { more, pauseMs: isPass ? Math.ceil(tookMs) : 0 };
  }

  #sync(): void {
    clearTimeout(this.#syncTimer);
    this.#syncTimer = undefined;
    this.#opened().sync();
  }

  /** A disk that fails now may work later: the error is reported, and the work is tried again at growing intervals. */
  #attempt(act: () => void): void {
    try {
      act();
      this.#retryMs = FIRST_RETRY_MS;
    } catch (error) {
      // The store itself reports a home that is lost.
      if (!(error instanceof StoreLostError)) this.#send({ type: "trouble", error: errorText(error) });
      this.#retryTimer ??= setTimeout(() => {
        this.#retryTimer = undefined;
        this.work();
      }, this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
    }
  }

  #finish(id: number, act: () => void): void {
    try {
      act();
      this.#send({ type: "done", id });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      this.#send({ type: "done", id, error: { text: errorText(error), code } });
    }
  }
}

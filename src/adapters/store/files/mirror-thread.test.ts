/** How the engine talks to the mirror's thread: when it wakes it, what it waits for, and what it says when the thread fails. */
import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { InvariantError, StoreFullError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { ThreadAnswer } from "../../system/thread.ts";
import type { MirrorNote, ToWorker, WorkerData } from "./mirror-worker.ts";
import { startMirror } from "./start-mirror.ts";

type FromWorker = MirrorNote | ThreadAnswer;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

class FakeThread extends EventEmitter {
  readonly received: ToWorker[] = [];
  /** Whether it keeps the process alive. */
  isHolding = false;
  readonly data: WorkerData;
  constructor(data: WorkerData) {
    super();
    this.data = data;
  }
  postMessage(message: ToWorker): void {
    this.received.push(message);
  }
  ref(): void {
    this.isHolding = true;
  }
  unref(): void {
    this.isHolding = false;
  }
  say(message: FromWorker): void {
    this.emit("message", message);
  }
  nudges(): number {
    return this.received.filter(({ type }) => type === "nudge").length;
  }
  /** Answers the oldest question that has no answer. */
  answer(error?: { text: string; code?: string }): void {
    const asked = this.received.shift();
    if (asked?.type === "flush" || asked?.type === "stop") this.say({ type: "done", id: asked.id, error });
    else if (asked) this.answer(error);
  }
}

function world(options: Partial<Parameters<typeof startMirror>[0]> = {}) {
  const threads: FakeThread[] = [];
  const said: string[] = [];
  const write = (level: string) => (text: string) => void said.push(`${level}: ${text}`);
  const log = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
  } as never as Log;
  const mirror = startMirror({ home: "/home", databasePath: "/home/rookery.db", log, ...options }, (data) => {
    const thread = new FakeThread(data);
    threads.push(thread);
    return thread as never;
  });
  const thread = (): FakeThread => {
    const last = threads.at(-1);
    if (!last) throw new Error("No thread was started.");
    return last;
  };
  return { mirror, threads, thread, said };
}

const lag = (ms: number, tookMs = 0): FromWorker => ({ type: "lag", lag: { behind: ms === 0 ? 0 : 5, ms }, tookMs });
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  const none = {};
  return (await Promise.race([promise.catch(() => undefined), Promise.resolve(none)])) !== none;
};

describe("the thread of the plain files", () => {
  test("starts at once, does not keep the process alive, and receives what to write and how soon to flush", () => {
    const { thread, threads } = world();
    expect(threads).toHaveLength(1);
    expect(thread().isHolding).toBe(false);
    const home = { home: "/home", databasePath: "/home/rookery.db", identity: undefined };
    expect(thread().data).toEqual({ ...home, syncAfterMs: 5_000 });
    expect(world({ syncAfterMs: 7 }).thread().data).toMatchObject({ syncAfterMs: 7 });
  });

  test("starts later if it is asked to, and only once if a flush comes first", () => {
    const late = world({ beginAfterMs: 400 });
    vi.advanceTimersByTime(399);
    expect(late.threads).toHaveLength(0);
    vi.advanceTimersByTime(1);
    expect(late.threads).toHaveLength(1);
    const early = world({ beginAfterMs: 400 });
    void early.mirror.flush();
    expect(early.threads).toHaveLength(1);
    vi.advanceTimersByTime(400);
    expect(early.threads).toHaveLength(1);
  });

  test("is woken at once by the first commit, and once for all commits of the next half second", () => {
    const { mirror, thread } = world();
    for (let n = 0; n < 5; n++) mirror.nudge();
    expect(thread().nudges()).toBe(1);
    vi.advanceTimersByTime(499);
    mirror.nudge();
    expect(thread().nudges()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(thread().nudges()).toBe(2);
    vi.advanceTimersByTime(5_000);
    expect(thread().nudges()).toBe(2);
    mirror.nudge();
    expect(thread().nudges()).toBe(3);
  });

  test("is woken at once by a commit half a second after the last wake-up, and not before", () => {
    for (const [afterMs, nudges] of [
      [500, 2],
      [499, 1],
    ] as const) {
      const { mirror, thread } = world();
      mirror.nudge();
      vi.advanceTimersByTime(afterMs);
      mirror.nudge();
      expect(thread().nudges(), `after ${afterMs} ms`).toBe(nudges);
    }
  });

  test.each([
    [0, 500],
    [266, 500],
    [400, 300],
    [432, 252],
    [5_000, 250],
  ])("wakes a thread whose step took %i ms again after %i ms", (tookMs, pauseMs) => {
    const { mirror, thread } = world();
    mirror.nudge();
    thread().say(lag(0, tookMs));
    mirror.nudge();
    vi.advanceTimersByTime(pauseMs - 1);
    expect(thread().nudges()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(thread().nudges()).toBe(2);
  });

  test("counts its lag from the first commit that it has not answered", () => {
    const { mirror, thread } = world();
    expect(mirror.lag()).toEqual({ behind: 0, ms: 0 });
    mirror.nudge();
    vi.advanceTimersByTime(100);
    mirror.nudge();
    vi.advanceTimersByTime(200);
    expect(mirror.lag()).toEqual({ behind: 0, ms: 300 });
    thread().say(lag(40));
    expect(mirror.lag()).toEqual({ behind: 5, ms: 40 });
    vi.advanceTimersByTime(1_000);
    expect(mirror.lag()).toEqual({ behind: 5, ms: 40 });
    mirror.nudge();
    vi.advanceTimersByTime(30);
    expect(mirror.lag()).toEqual({ behind: 5, ms: 40 });
  });

  test("keeps the process alive while a flush is open, and no longer", async () => {
    const { mirror, thread } = world();
    const [one, two] = [mirror.flush(), mirror.flush()];
    expect(thread().isHolding).toBe(true);
    thread().answer();
    await one;
    expect(thread().isHolding).toBe(true);
    expect(await isSettled(two)).toBe(false);
    thread().answer();
    await two;
    expect(thread().isHolding).toBe(false);
  });

  test.each([
    ["ENOSPC", StoreFullError],
    ["EDQUOT", StoreFullError],
    ["EACCES", StoreFullError],
    ["EIO", InvariantError],
    [undefined, InvariantError],
  ])("rejects a flush that fails with %s, and answers the next", async (code, kind) => {
    const { mirror, thread } = world();
    const flush = mirror.flush();
    thread().answer({ text: "no", code });
    await expect(flush).rejects.toThrow(kind);
    const next = mirror.flush();
    thread().answer();
    await next;
  });
});

describe("a thread that ends by itself", () => {
  test("fails what waits for it, and another takes its place a second later", async () => {
    const { mirror, threads, thread, said } = world();
    const flush = mirror.flush();
    thread().emit("error", new Error("out of memory"));
    thread().emit("exit", 1);
    await expect(flush).rejects.toThrow("ended before it was done");
    expect(said).toEqual([expect.stringContaining("error: ")]);
    vi.advanceTimersByTime(999);
    expect(threads).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(threads).toHaveLength(2);
    expect(thread().isHolding).toBe(false);
    mirror.nudge();
    expect(thread().nudges()).toBe(1);
  });

  test("is replaced a second later, even if its planned start comes before", () => {
    const { mirror, threads, thread } = world({ beginAfterMs: 400 });
    mirror.flush().catch(() => undefined);
    vi.advanceTimersByTime(100);
    thread().emit("exit", 1);
    vi.advanceTimersByTime(999);
    expect(threads).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(threads).toHaveLength(2);
  });

  test("is replaced at once for a flush, and by one thread only", () => {
    const { mirror, threads, thread } = world();
    thread().emit("exit", 1);
    void mirror.flush();
    expect(threads).toHaveLength(2);
    vi.advanceTimersByTime(5_000);
    expect(threads).toHaveLength(2);
  });

  test("misses commits without an error", () => {
    const { mirror, thread, threads } = world();
    thread().emit("exit", 1);
    mirror.nudge();
    expect(threads[0]?.nudges()).toBe(0);
  });
});

describe("a rest", () => {
  const ended = async (thread: FakeThread): Promise<void> => {
    thread.answer();
    thread.emit("exit", 0);
    for (let turn = 0; turn < 30; turn++) await Promise.resolve();
  };

  test("ends the thread some seconds after the last commit, and the next commit starts one", async () => {
    const { mirror, threads, thread } = world();
    mirror.nudge();
    thread().say(lag(0));
    vi.advanceTimersByTime(7_999);
    expect(thread().received).toMatchObject([{ type: "nudge" }]);
    vi.advanceTimersByTime(1);
    expect(thread().received.at(-1)).toMatchObject({ type: "stop" });
    await ended(thread());
    vi.advanceTimersByTime(60_000);
    expect(threads).toHaveLength(1);
    mirror.nudge();
    expect(threads).toHaveLength(2);
  });

  test("starts one thread after the other has ended when a commit, a flush or a failure comes in between", async () => {
    for (const during of ["commit", "flush", "failure"] as const) {
      const { mirror, threads, thread } = world();
      thread().say(lag(0));
      vi.advanceTimersByTime(8_000);
      if (during === "commit") mirror.nudge();
      if (during === "flush") void mirror.flush();
      expect(threads, during).toHaveLength(1);
      if (during === "failure") {
        thread().emit("exit", 1);
        for (let turn = 0; turn < 30; turn++) await Promise.resolve();
        vi.advanceTimersByTime(1_000);
      } else await ended(thread());
      expect(threads, during).toHaveLength(2);
    }
  });
});

describe("a stop", () => {
  test("resolves when everything is written and the thread has ended, and nothing starts it again", async () => {
    const { mirror, threads, thread } = world();
    mirror.nudge();
    mirror.nudge();
    const stop = mirror.stop();
    expect(thread().isHolding).toBe(true);
    thread().answer();
    expect(await isSettled(stop)).toBe(false);
    expect(thread().isHolding).toBe(true);
    thread().emit("exit", 0);
    await stop;
    mirror.nudge();
    vi.advanceTimersByTime(60_000);
    expect(threads).toHaveLength(1);
    expect(thread().nudges()).toBe(0);
    await mirror.stop();
    expect(thread().received).toEqual([]);
  });

  test("is the last message to the thread", () => {
    const { mirror, thread } = world();
    void mirror.stop();
    mirror.nudge();
    vi.advanceTimersByTime(60_000);
    expect(thread().received).toMatchObject([{ type: "stop" }]);
    thread().answer();
    thread().emit("exit", 0);
  });

  test("rejects after a failure, but not before the thread has ended", async () => {
    const { mirror, thread } = world();
    const stop = mirror.stop();
    thread().answer({ text: "full", code: "ENOSPC" });
    expect(await isSettled(stop)).toBe(false);
    thread().emit("exit", 0);
    await expect(stop).rejects.toThrow(StoreFullError);
  });

  test("while no thread runs starts one for the last files, and no other", async () => {
    const { mirror, threads, thread } = world();
    thread().emit("exit", 1);
    const stop = mirror.stop();
    expect(threads).toHaveLength(2);
    thread().answer();
    thread().emit("exit", 0);
    await stop;
    vi.advanceTimersByTime(5_000);
    expect(threads).toHaveLength(2);
  });
});

describe("the log of the plain files", () => {
  test("says once that they cannot be written, and once that they are again", () => {
    const { thread, said } = world();
    const trouble: FromWorker = { type: "trouble", error: "EIO" };
    thread().say(trouble);
    thread().say(trouble);
    expect(said).toEqual([expect.stringMatching(/^error: .*trying again/)]);
    thread().say(lag(0));
    thread().say(lag(0));
    expect(said.slice(1)).toEqual([expect.stringMatching(/^info: .*written again/)]);
    thread().say(trouble);
    expect(said).toHaveLength(3);
  });

  test("warns of a lag above a second, at most once a minute", () => {
    const { thread, said } = world();
    thread().say(lag(1_000));
    expect(said).toEqual([]);
    thread().say(lag(1_001));
    expect(said).toEqual([expect.stringMatching(/^warn: .*behind/)]);
    vi.advanceTimersByTime(60_000);
    thread().say(lag(5_000));
    expect(said).toHaveLength(1);
    vi.advanceTimersByTime(1);
    thread().say(lag(5_000));
    expect(said).toHaveLength(2);
  });

  test("has what the thread noticed", () => {
    const { thread, said } = world();
    thread().say({ type: "notice", text: "A line was torn." });
    expect(said).toEqual(["warn: A line was torn."]);
  });
});

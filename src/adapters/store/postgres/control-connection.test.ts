/** The connection a store keeps for itself: locks of its nodes, leases, how it opens and closes, and what happens when it breaks. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { pass, stopClock, turns, world } from "./control-connection.test-kit.ts";

beforeEach(stopClock);
afterEach(() => void vi.useRealTimers());

describe("the lock of a node", () => {
  test("is taken when it joins and marked, and taken again on a new connection", async () => {
    const { control, clients, last, asked } = world();
    await control.open();
    await control.hold(7);
    expect(asked()).toEqual(["listen", "try_advisory_lock 7", "UPDATE nodes SET locked  7"]);
    last().emit("end");
    await pass(0);
    expect(clients).toHaveLength(2);
    expect(asked()).toEqual(["listen", "try_advisory_lock 7", "UPDATE nodes SET locked  7"]);
    await control.close();
  });

  test("that the server still holds for the old connection is tried again at each check, and marked only then", async () => {
    const { control, state, asked } = world();
    await control.open();
    state.held = false;
    await control.hold(7);
    expect(asked()).toEqual(["listen", "try_advisory_lock 7"]);
    await pass(5_000);
    expect(asked()).toEqual(["1", "try_advisory_lock 7"]);
    state.held = true;
    await pass(5_000);
    expect(asked()).toEqual(["1", "try_advisory_lock 7", "UPDATE nodes SET locked  7"]);
    await pass(5_000);
    expect(asked()).toEqual(["1"]);
    await control.close();
  });
});

describe("a connection that breaks", () => {
  test.each(["end", "error"])("with %s is opened again, once, and says so to those who listen", async (event) => {
    const { control, clients, last } = world();
    await control.open();
    let gaps = 0;
    control.relay.listen(
      () => {},
      () => gaps++,
    );
    const first = last();
    first.emit(event, new Error("cut"));
    first.emit("end");
    await pass(0);
    expect([clients.length, gaps]).toEqual([2, 1]);
    first.emit("end");
    await pass(0);
    expect(clients).toHaveLength(2);
    await control.close();
  });

  test("is tried again in longer and longer pauses, up to two seconds", async () => {
    const { control, clients, state, last } = world();
    await control.open();
    state.refuse = 6;
    last().emit("end");
    await pass(0);
    const at: number[] = [];
    for (let ms = 0; ms < 8_000 && clients.length === 1; ms += 50) {
      const before = state.refuse;
      await pass(50);
      if (state.refuse !== before) at.push(ms + 50);
    }
    expect(at).toEqual([100, 300, 700, 1_500, 3_100, 5_100]);
    expect(clients).toHaveLength(2);
    await control.close();
  });

  test("without a notice is found by a check that fails, or that does not answer in time", async () => {
    const { control, clients, state } = world();
    await control.open();
    state.fails = true;
    await vi.advanceTimersByTimeAsync(5_000);
    state.fails = false;
    await pass(100);
    // The second could not listen: both are ended, so that no connection with locks is left behind.
    expect(clients.map(({ isEnded }) => isEnded)).toEqual([true, true, false]);
    expect(vi.getTimerCount()).toBe(1);
    state.hangs = true;
    await pass(4_900);
    await pass(4_999);
    expect(clients[2]?.isEnded).toBe(false);
    state.hangs = false;
    await pass(1);
    await pass(100);
    expect([clients[2]?.isEnded, clients.length]).toEqual([true, 4]);
    await control.close();
  });

  test("after a close stays closed, and a check that answers in time ends nothing", async () => {
    const { control, clients } = world();
    await control.open();
    await pass(5_000);
    await pass(5_000);
    expect(clients[0]?.isEnded).toBe(false);
    await control.close();
    expect(clients[0]?.queries.at(-1)).toBe("advisory_unlock_all");
    expect(clients[0]?.isEnded).toBe(true);
    await pass(60_000);
    expect([clients.length, clients[0]?.queries.length, vi.getTimerCount()]).toEqual([1, 4, 0]);
  });
});

test("a connection that cannot take its locks is ended before the next one tries", async () => {
  const { control, clients, state, last } = world();
  await control.open();
  await control.hold(7);
  state.failsLock = true;
  last().emit("end");
  await turns();
  state.failsLock = false;
  await pass(100);
  expect(clients.map(({ isEnded }) => isEnded)).toEqual([true, true, false]);
  expect(last().queries).toEqual(["listen", "try_advisory_lock 7", "UPDATE nodes SET locked  7"]);
  expect(await control.leases.tryHold("bot", () => {})).toBe(true);
  await control.close();
});

test("a connection that breaks while it takes its locks is followed by one other, not by two", async () => {
  const { control, clients, state, last } = world();
  await control.open();
  await control.hold(7);
  state.breaksAtLock = true;
  last().emit("end");
  await turns();
  await pass(60_000);
  expect(clients).toHaveLength(3);
  await control.close();
});

describe("a lease", () => {
  test("is held once, released, and told as lost when the connection breaks", async () => {
    const { control, last, asked } = world();
    await control.open();
    asked();
    const lost: string[] = [];
    expect(await control.leases.tryHold("bot", () => lost.push("bot"))).toBe(true);
    expect(await control.leases.tryHold("bot", () => lost.push("again"))).toBe(true);
    expect(asked()).toEqual(["try_advisory_lock s bot"]);
    await control.leases.tryHold("other", () => lost.push("other"));
    await control.leases.release("other");
    await control.leases.release("other");
    expect(asked()).toEqual(["try_advisory_lock s other", "advisory_unlock s other"]);
    last().emit("end");
    expect(lost).toEqual(["bot"]);
    expect(await control.leases.tryHold("bot", () => lost.push("new"))).toBe(false);
    await pass(0);
    last().emit("end");
    expect(lost).toEqual(["bot"]);
    await pass(0);
    expect(await control.leases.tryHold("bot", () => {})).toBe(true);
    await control.close();
  });

  test("that another process has is not held, nor one whose connection broke while it was asked for", async () => {
    const { control, state, last } = world();
    await control.open();
    state.held = false;
    expect(await control.leases.tryHold("bot", () => {})).toBe(false);
    state.held = true;
    const asking = control.leases.tryHold("bot", () => {});
    last().emit("end");
    expect(await asking).toBe(false);
    await pass(0);
    await control.close();
  });
});

describe("a connection that opens", () => {
  test("listens to the channels of hints, of all and of its own process", async () => {
    const { control, last } = world();
    await control.open();
    expect(last().texts).toEqual([
      'SET synchronous_commit = off; LISTEN "s_hint"; LISTEN "s_relay"; LISTEN "relay_me1"',
    ]);
    await control.close();
  });

  test("checks itself without keeping its process alive; one that cannot be opened leaves no timer behind", async () => {
    const { control, state } = world();
    state.refuse = 1;
    await expect(control.open()).rejects.toThrow("no database");
    expect(vi.getTimerCount()).toBe(0);
    const made = vi.spyOn(globalThis, "setInterval");
    await control.open();
    expect(made.mock.results.map(({ value }) => value.hasRef())).toEqual([false]);
    made.mockRestore();
    await control.close();
  });

  test("is ended if the store was closed meanwhile, with no lock taken and nobody told of a gap", async () => {
    for (const part of ["connect", "LISTEN"]) {
      const { control, clients, hang, last, asked } = world();
      await control.open();
      await control.hold(7);
      let gaps = 0;
      control.relay.listen(
        () => {},
        () => gaps++,
      );
      const resolve = hang(part);
      last().emit("end");
      await turns();
      await control.close();
      resolve();
      await pass(60_000);
      expect([clients.length, last().isEnded, gaps]).toEqual([2, true, 0]);
      expect(asked()).toEqual(["listen"]);
    }
  });

  test("is not tried again after a close", async () => {
    const { control, clients, state, last } = world();
    await control.open();
    state.refuse = 1e9;
    last().emit("end");
    await pass(1_000);
    await control.close();
    const before = state.refuse;
    await pass(60_000);
    expect([clients.length, state.refuse, vi.getTimerCount()]).toEqual([1, before, 0]);
  });

  test("and ends with its last answer is followed by another", async () => {
    const { control, clients, state, last } = world();
    await control.open();
    await control.hold(7);
    state.breaksAfterMark = true;
    last().emit("end");
    await pass(0);
    expect(clients.map(({ isEnded }) => isEnded)).toEqual([true, true, false]);
    expect(await control.leases.tryHold("bot", () => {})).toBe(true);
    await control.close();
  });
});

describe("a connection that cannot take its locks", () => {
  test("is used for nothing and followed by no other until it has ended, then after a tenth of a second", async () => {
    const { control, clients, state, hang, last, asked } = world();
    await control.open();
    await control.hold(7);
    state.failsLock = true;
    const ended = hang("end");
    last().emit("end");
    await pass(1_000);
    asked();
    expect(await control.leases.tryHold("bot", () => {})).toBe(false);
    expect([clients.length, asked()]).toEqual([2, []]);
    state.failsLock = false;
    ended();
    await turns();
    await pass(99);
    expect(clients).toHaveLength(2);
    await pass(1);
    expect(clients).toHaveLength(3);
    await control.close();
  });
});

describe("a node that joins", () => {
  test("hears hints at once, and is answered only when its lock is held and marked", async () => {
    const { control, hang, last } = world();
    await control.open();
    const heard: string[] = [];
    control.onHint((agentId) => heard.push(agentId));
    const [locked, marked] = [hang("'.node'"), hang("UPDATE nodes")];
    let joined = false;
    const joining = control.hold(7).then(() => {
      joined = true;
    });
    last().emit("notification", { channel: "s_hint", payload: "you-2 7:mine" });
    expect(heard).toEqual(["mine"]);
    for (const resolve of [locked, marked]) {
      await turns();
      expect(joined).toBe(false);
      resolve();
    }
    await joining;
    await control.close();
  });

  test("whose lock the old connection still has is locked by a check of the new one, whatever the old one answers late", async () => {
    const { control, state, hang, last, asked } = world();
    await control.open();
    await control.hold(6);
    const answer = hang("'.node'");
    void control.hold(7);
    await turns();
    last().emit("end");
    await turns();
    // Both connections have asked; the first is answered too late, the second is refused.
    state.held = false;
    answer();
    await pass(0);
    asked();
    state.held = true;
    await pass(5_000);
    expect(asked().toSorted()).toEqual([
      "1",
      "UPDATE nodes SET locked  6",
      "UPDATE nodes SET locked  7",
      "try_advisory_lock 6",
      "try_advisory_lock 7",
    ]);
    await control.close();
  });

  test("is not taken for locked because of an answer of a connection that is gone", async () => {
    const { control, clients, state, last, asked } = world();
    await control.open();
    const { promise, resolve } = Promise.withResolvers<object>();
    const first = last();
    vi.spyOn(first, "query").mockReturnValueOnce(promise as never);
    void control.hold(7);
    state.held = false;
    first.emit("end");
    await pass(0);
    resolve({ rows: [{ held: true }] });
    await turns();
    expect([clients.length, asked()]).toEqual([2, ["listen", "try_advisory_lock 7"]]);
    await pass(5_000);
    expect(asked()).toEqual(["1", "try_advisory_lock 7"]);
    await control.close();
  });
});

describe("a close", () => {
  test("waits until its locks are free and its connection has ended, and tells no lease as lost", async () => {
    const { control, hang, last, asked } = world();
    await control.open();
    const lost: string[] = [];
    await control.leases.tryHold("bot", () => lost.push("bot"));
    const unlocked = hang("unlock_all");
    let closed = false;
    const closing = control.close().then(() => {
      closed = true;
    });
    await turns();
    expect([last().isEnded, closed]).toEqual([false, false]);
    expect(await control.leases.tryHold("late", () => {})).toBe(false);
    const ended = hang("end");
    unlocked();
    await turns();
    expect([last().isEnded, closed]).toEqual([false, false]);
    ended();
    await closing;
    expect([last().isEnded, lost]).toEqual([true, []]);
    asked();
    expect(await control.leases.tryHold("other", () => {})).toBe(false);
    expect(asked()).toEqual([]);
  });

  test("opens no other connection if its own breaks with the last words", async () => {
    const { control, clients, hang, last } = world();
    await control.open();
    control.relay.send("last words");
    const sent = hang("pg_notify");
    const closing = control.close();
    last().emit("end");
    sent();
    await closing;
    await pass(60_000);
    expect([clients.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test("sends what was said in the same moment first", async () => {
    const { control, clients } = world();
    await control.open();
    control.relay.send("last words");
    await control.close();
    await turns();
    expect(clients[0]?.queries).toEqual(["listen", "notify s_relay me-1 last words", "advisory_unlock_all"]);
  });
});

test("a lease is released when the database has released it", async () => {
  const { control, hang } = world();
  await control.open();
  await control.leases.tryHold("bot", () => {});
  const unlocked = hang("pg_advisory_unlock(");
  let released = false;
  const releasing = control.leases.release("bot").then(() => {
    released = true;
  });
  await turns();
  expect(released).toBe(false);
  unlocked();
  await releasing;
  await control.close();
});

/** The connection a store keeps for itself: locks of its nodes, leases, hints, and what happens when it breaks. */
import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ControlConnection, openControlConnection } from "./control-connection.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

class Client extends EventEmitter {
  readonly queries: string[] = [];
  readonly texts: string[] = [];
  isEnded = false;
  readonly answer: (text: string) => unknown;

  constructor(answer: (text: string) => unknown) {
    super();
    this.answer = answer;
  }

  async query(text: string, values: unknown[] = []): Promise<unknown> {
    const short = text.startsWith("SET") ? "listen" : text.replace(/^SELECT pg_|^SELECT |\(.*$/g, "").slice(0, 24);
    this.queries.push([short, ...values.flat()].join(" "));
    this.texts.push(text);
    return this.answer(text);
  }

  async end(): Promise<void> {
    await this.answer("end");
    this.isEnded = true;
    this.emit("end");
  }
}

function world() {
  const clients: Client[] = [];
  const state = {
    refuse: 0,
    held: true,
    hangs: false,
    fails: false,
    failsLock: false,
    breaksAtLock: false,
    breaksAfterMark: false,
  };
  /** Statements with such a text are answered only after these. */
  const slow = new Map<string, Promise<void>>();
  const connections = {
    options: { schema: "s" },
    own: async () => {
      await slow.get("connect");
      if (state.refuse-- > 0) throw new Error("no database");
      const client = new Client(async (text) => {
        for (const [part, until] of slow) if (text.includes(part)) await until;
        if (text === "end") return;
        if (state.fails || (state.failsLock && text.includes("'.node'"))) throw new Error("cut");
        if (state.breaksAtLock && text.includes("'.node'")) {
          state.breaksAtLock = false;
          client.emit("end");
          throw new Error("cut");
        }
        if (state.breaksAfterMark && text.startsWith("UPDATE nodes")) {
          state.breaksAfterMark = false;
          client.emit("end");
        }
        if (state.hangs && text === "SELECT 1") return new Promise(() => {});
        return { rows: [{ held: state.held }] };
      });
      clients.push(client);
      return client;
    },
  } as never;
  const control = new ControlConnection(connections, "me-1");
  /** Statements with this text hang until what this returns is called. */
  const hang = (part: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    slow.set(part, promise);
    return () => {
      slow.delete(part);
      resolve();
    };
  };
  const last = (): Client => clients.at(-1) as Client;
  const asked = (): readonly string[] => last().queries.splice(0);
  return { connections, control, clients, state, hang, last, asked };
}
const turns = async (): Promise<void> => {
  for (let n = 0; n < 6; n++) await new Promise((resolve) => setImmediate(resolve));
};
const pass = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
  await turns();
};
const posted = (agentId: string, node?: number, duplicate = false) => ({
  ok: true,
  results: [{ op: "message.post", agentId, duplicate, holder: node === undefined ? undefined : { node } }],
});

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

describe("hints and texts", () => {
  test("of one moment go in one query: posts of others' agents, aborts, stops and handed agents", async () => {
    const { control, asked } = world();
    await control.open();
    await control.hold(1);
    asked();
    const stop = { ops: [{ op: "agent.stop", agentId: "stopped" }] };
    const hand = { ops: [{ op: "agent.hand", to: 9 }], owner: { agentId: "handed" } };
    control.publishHints(
      [{}, {}, {}, {}, {}, stop, hand, stop] as never,
      [
        posted("free"),
        posted("own", 1),
        posted("other", 2),
        posted("seen", 2, true),
        {
          ok: true,
          results: [
            { op: "run.abort", marked: true, agentId: "aborted" },
            { op: "run.abort", marked: false, agentId: "no" },
            { op: "run.abort", marked: true },
          ],
        },
        { ok: true, results: [] },
        { ok: true, results: [undefined] },
        { ok: false },
      ] as never,
    );
    control.relay.send("to all");
    control.relay.send("to one", "you-2");
    await turns();
    expect(asked()).toEqual([
      "notify s_relay relay_you2 s_hint me-1 to all me-1 to one me-1 0:free,2:other,0:aborted,0:stopped,9:handed",
    ]);
    control.publishHints([{}] as never, [new Error("gone")] as never);
    await turns();
    expect(asked()).toEqual([]);
    await control.close();
  });

  test("that are too long or too many are dropped, and many hints go in several notes", async () => {
    const { control, asked } = world();
    await control.open();
    asked();
    expect(control.relay.maxBytes).toBe(7_736);
    for (const text of ["x".repeat(7_736), "x".repeat(7_737), "ü".repeat(3_868), "ü".repeat(3_869)])
      control.relay.send(text);
    await turns();
    expect(asked()).toEqual([`notify s_relay s_relay me-1 ${"x".repeat(7_736)} me-1 ${"ü".repeat(3_868)}`]);
    for (let n = 0; n < 1_005; n++) control.relay.send(`${n}`);
    await turns();
    const texts = asked().join(" ").split("me-1 ").slice(1);
    expect([texts.length, texts.at(-1)]).toEqual([1_000, "999"]);
    control.publishHints(
      [{}] as never,
      [
        {
          ok: true,
          results: Array.from({ length: 500 }, (_none, n) => posted(`agent-number-${n}-with-a-long-name`).results[0]),
        },
      ] as never,
    );
    await turns();
    const notes = asked().join(" ").split("me-1 ").slice(1);
    expect(notes.length).toBeGreaterThan(2);
    for (const note of notes) expect(note.length).toBeLessThanOrEqual(7_800 - 64);
    expect(notes.flatMap((note) => note.split(","))).toHaveLength(500);
    await control.close();
  });

  test("that come while a query runs go together with the next one", async () => {
    const { control, hang, asked } = world();
    await control.open();
    asked();
    const resolve = hang("pg_notify");
    for (const text of ["first", "second", "third"]) {
      control.relay.send(text);
      await turns();
    }
    expect(asked()).toEqual(["notify s_relay me-1 first"]);
    resolve();
    await turns();
    expect(asked()).toEqual(["notify s_relay s_relay me-1 second me-1 third"]);
    await control.close();
  });

  test("that waited for a connection all go before a close, in queries of at most 64 texts", async () => {
    const { control, clients, state, last } = world();
    await control.open();
    state.refuse = 1;
    last().emit("end");
    for (let n = 0; n < 130; n++) control.relay.send(`${n}`);
    await turns();
    await pass(100);
    expect(last().queries).toEqual(["listen"]);
    await control.close();
    const sent = (clients[1]?.queries ?? []).filter((text) => text.startsWith("notify"));
    expect(sent.map((text) => text.split("me-1").length - 1)).toEqual([64, 64, 2]);
    expect(clients[1]?.queries.at(-1)).toBe("advisory_unlock_all");
  });

  test("wait while there is no connection, and go with the next ones afterwards", async () => {
    const { control, state, last, asked } = world();
    await control.open();
    state.refuse = 1;
    last().emit("end");
    control.relay.send("waits");
    await turns();
    await pass(100);
    expect(asked()).toEqual(["listen"]);
    control.relay.send("next");
    await turns();
    expect(asked()).toEqual(["notify s_relay s_relay me-1 waits me-1 next"]);
    await control.close();
  });

  test("reach those who listen: hints for own nodes or for any, texts of other processes, never the own ones", async () => {
    const { control, last } = world();
    await control.open();
    await control.hold(1);
    const heard: string[] = [];
    const stopHints = control.onHint((agentId) => heard.push(agentId));
    const stopTexts = control.relay.listen((text, from) => heard.push(`${from}: ${text}`));
    const hear = (channel: string, payload?: string): void => void last().emit("notification", { channel, payload });
    hear("s_hint", "you-2 1:mine,2:theirs,0:free");
    hear("s_hint", "me-1 0:own");
    hear("s_relay", "you-2 a text, with words");
    hear("relay_me1", "you-2 for me");
    hear("s_relay", "me-1 own");
    expect(heard.splice(0)).toEqual(["mine", "free", "you-2: a text, with words", "you-2: for me"]);
    stopHints();
    stopTexts();
    hear("s_hint", "you-2 1:mine");
    hear("s_relay", "you-2 x");
    expect(heard).toEqual([]);
    await control.close();
  });

  test("that were sent before a close go first", async () => {
    const { control, clients } = world();
    await control.open();
    control.publishHints([{}] as never, [posted("a", 2)] as never);
    await turns();
    control.relay.send("last words");
    await turns();
    await control.close();
    expect(clients[0]?.queries).toEqual([
      "listen",
      "notify s_hint me-1 2:a",
      "notify s_relay me-1 last words",
      "advisory_unlock_all",
    ]);
  });
});

describe("a connection that opens", () => {
  test("listens to the channels of hints, of all and of its own process", async () => {
    const { connections, last } = world();
    const control = await openControlConnection(connections, "me-1");
    expect(last().texts).toEqual([
      'SET synchronous_commit = off; LISTEN "s_hint"; LISTEN "s_relay"; LISTEN "relay_me1"',
    ]);
    await control.close();
  });

  test("checks itself without keeping its process alive; one that cannot be opened leaves no timer behind", async () => {
    const { connections, control, state } = world();
    state.refuse = 1;
    await expect(openControlConnection(connections, "me-1")).rejects.toThrow("no database");
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

test("a query that fails loses its own texts, not the next ones", async () => {
  const { control, state, asked } = world();
  await control.open();
  state.fails = true;
  control.relay.send("lost");
  await turns();
  state.fails = false;
  asked();
  control.relay.send("next");
  await turns();
  expect(asked()).toEqual(["notify s_relay me-1 next"]);
  await control.close();
});

test.each([
  [7_736, 1],
  [7_737, 2],
])("hints of %i bytes go in %i notes", async (bytes, notes) => {
  const { control, asked } = world();
  await control.open();
  asked();
  const results = [posted("a".repeat(3_998)), posted("b".repeat(bytes - 4_003))];
  control.publishHints([{}, {}] as never, results as never);
  await turns();
  expect(
    asked()
      .join(" ")
      .split("me-1 ")
      .slice(1)
      .map((text) => text.trim().length),
  ).toEqual(notes === 1 ? [bytes] : [4_000, bytes - 4_001]);
  await control.close();
});

test("a notice of another program is no hint: one without text, without an agent, or of a node elsewhere", async () => {
  const { control, last } = world();
  await control.open();
  const heard: string[] = [];
  control.onHint((agentId) => heard.push(agentId));
  for (const payload of [undefined, "", "x", "x 0", "x 0:", "x 9:theirs", "x 0:free"])
    last().emit("notification", { channel: "s_hint", payload });
  expect(heard).toEqual(["free"]);
  await control.close();
});

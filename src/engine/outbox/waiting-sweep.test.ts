import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { type SettingsPart, testSettings } from "../../../test/kit/settings.ts";
import type { Delivery, DeliveryContext } from "../../core/delivery/delivery.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Change, CommitResult, Op } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { type SweepPorts, WaitingSweep } from "./waiting-sweep.ts";

const DAY = 24 * 3_600_000;
type Row = Delivery & { n: number };

/** A store of deliveries in memory, and everything the sweep says. */
function world(part: SettingsPart = {}, more: Partial<SweepPorts> = {}) {
  const clock = virtualClock();
  const rows: Row[] = [];
  const moves: string[] = [];
  const said: string[] = [];
  const asked: string[] = [];
  const changes: Change[] = [];
  const state = { refuses: [] as string[], fails: 0, passes: 0 };
  const commit = async (change: Change): Promise<CommitResult> => {
    if (state.fails > 0) {
      state.fails -= 1;
      throw new Error("the disk is full");
    }
    changes.push(change);
    const [op, ...also] = change.ops;
    if (op?.op !== "delivery.move") throw new TypeError("no move");
    const row = rows.find(({ id }) => id === op.id);
    if (!row || row.state !== op.from || state.refuses.includes(`${op.id}+${also.length}`))
      return { ok: false, detail: "moved" } as unknown as CommitResult;
    moves.push(`${op.id}>${op.to}${op.reason ? ` ${op.reason}` : ""}`);
    Object.assign(row, {
      state: op.to,
      target: op.target ?? row.target,
      n: op.toTail ? rows.length + moves.length : row.n,
    });
    const results = also.map((one) => (one.op === "message.post" ? { op: one.op, seq: 7 } : undefined));
    return { ok: true, results: [undefined, ...results] } as unknown as CommitResult;
  };
  const inOrder = (): readonly Row[] => rows.toSorted((one, other) => one.n - other.n);
  const store: Partial<Store> = {
    commit,
    outcome: async () => undefined,
    agent: async () => ({ profile: "work" }) as never,
    deliveries: async ({ afterN = 0, limit, states } = {} as never) => {
      if (states?.includes("unroutable")) state.passes += 1;
      return inOrder()
        .filter((one) => one.n > afterN && states?.includes(one.state))
        .slice(0, limit);
    },
    mailboxesOf: async (channel, { limit }) =>
      inOrder()
        .filter((one) => one.state === "waiting-reader" && one.target.channel === channel)
        .slice(0, limit),
    fullMailboxes: async (most) => {
      const waiting = rows.filter((one) => one.state === "waiting-reader");
      return waiting.length > most ? [{ target: JSON.stringify(waiting[0]?.target), count: waiting.length }] : [];
    },
    mailbox: async (_target, { limit } = {} as never) =>
      inOrder()
        .filter((one) => one.state === "waiting-reader")
        .slice(0, limit),
  };
  const connectors = new Map<string, Connector>();
  const settings = testSettings({ mailbox: { maxWaiting: 4 } }, part);
  const routes: Record<string, DeliveryContext> = {};
  const log = { info() {}, warn: (text: string) => void said.push(text), error() {}, debug() {} };
  const ports = {
    clock,
    store,
    connectors,
    log,
    ids: { change: () => `c${changes.length}` },
    routeTo: async (person: string) => {
      asked.push(person);
      return routes[person];
    },
    claimFor: () => 3,
    posted: (posted: readonly unknown[]) => void said.push(`posted ${posted.length}`),
    moved: (to: string, target: DeliveryContext) => void said.push(`${to} ${target.channel}:${target.to}`),
    settings,
    ...more,
  } as unknown as SweepPorts;
  const sweep = new WaitingSweep(ports);
  const add = (id: string, to: Delivery["state"], target: DeliveryContext, rest: object = {}): void => {
    const row = { id, n: rows.length + 1, agentId: "a", state: to, target, attempts: 1, createdAt: clock.now() };
    rows.push({ ...row, payload: { text: id }, ...rest } as unknown as Row);
  };
  /** Time passes; promises in between end. */
  const pass = (ms: number): Promise<void> => clock.advance(ms, settled);
  return { clock, sweep, add, pass, rows, moves, said, asked, changes, connectors, routes, state };
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
};
const connector = (rest: object = {}): Connector => rest as Connector;
const ann = { channel: "person", to: "ann" };
const box = { channel: "api", to: "bob" };

describe("deliveries without a route", () => {
  test("go to the route that their person has now, which is asked for once per pass", async () => {
    const { sweep, add, moves, said, asked, routes, connectors, changes } = world();
    connectors.set("telegram", connector());
    add("d1", "unroutable", ann);
    add("d2", "unroutable", ann);
    add("d3", "unroutable", { channel: "person", to: "eve" });
    routes.ann = { channel: "telegram", to: "5" };
    await sweep.sweep();
    expect(moves).toEqual(["d1>pending", "d2>pending"]);
    expect(said).toEqual(["pending telegram:5", "pending telegram:5"]);
    expect(asked).toEqual(["ann", "eve"]);
    expect(changes[0]).toMatchObject({
      site: "waiting.pending",
      ops: [{ from: "unroutable", attempts: 1, to: "pending", target: routes.ann, toTail: true }],
    });
  });

  test("wait in a mailbox if the person has only that", async () => {
    const { sweep, add, moves, routes } = world();
    add("d1", "unroutable", ann);
    routes.ann = box;
    await sweep.sweep();
    expect(moves).toEqual(["d1>waiting-reader"]);
  });

  test("with an address of their own are sent when its connector starts, and no person is asked for", async () => {
    const { sweep, add, moves, asked, connectors } = world();
    add("d1", "unroutable", { channel: "slack", to: "C1" });
    await sweep.sweep();
    expect(moves).toEqual([]);
    connectors.set("slack", connector());
    await sweep.sweep();
    expect(moves).toEqual(["d1>pending"]);
    expect(asked).toEqual([]);
  });

  test("are taken over by a connector that takes the channel of their agent's profile", async () => {
    const { sweep, add, rows, connectors } = world();
    connectors.set(
      "bridge",
      connector({
        takesOver: (target: DeliveryContext) =>
          target.channel === "person" ? { channel: "bridge", to: "x" } : undefined,
      }),
    );
    add("d1", "unroutable", ann);
    await sweep.sweep();
    expect(rows[0]).toMatchObject({ state: "pending", target: { channel: "bridge", to: "x" } });
  });

  test.each([
    [7 * DAY, []],
    [7 * DAY + 1, ["d1>failed no route"]],
  ])("after %i ms: %j", async (age, expected) => {
    const { sweep, add, moves, clock } = world();
    add("d1", "unroutable", ann);
    clock.jump(age);
    await sweep.sweep();
    expect(moves).toEqual(expected);
  });

  test("of a job tell the job with their end, and without it if that is refused", async () => {
    const post: Op = { op: "message.post", to: { agentId: "m" }, message: {} } as unknown as Op;
    const told: unknown[] = [];
    const opsOnDelivered = async (_delivery: Delivery, end: object): Promise<readonly Op[]> => {
      told.push(end);
      return [post];
    };
    const { sweep, add, moves, said, changes, clock, state } = world({}, { opsOnDelivered } as never);
    add("d1", "unroutable", ann, { payload: { text: "x", slot: { jobId: "j", slot: "1" } } });
    add("d2", "unroutable", ann, { payload: { text: "x", slot: { jobId: "j", slot: "2" } } });
    add("d3", "unroutable", ann);
    state.refuses = ["d2+1"];
    clock.jump(8 * DAY);
    await sweep.sweep();
    expect(moves).toEqual(["d1>failed no route", "d2>failed no route", "d3>failed no route"]);
    expect(changes.map(({ ops }) => ops.length)).toEqual([2, 2, 1, 1]);
    expect(changes[0]?.ops[1]).toMatchObject({ op: "message.post", claimFor: 3 });
    expect(said).toEqual(["posted 1"]);
    expect(told).toEqual([
      { to: "failed", reason: "no route" },
      { to: "failed", reason: "no route" },
    ]);
  });

  test("end at most once: a refused end that tells no job is not tried again", async () => {
    const { sweep, add, moves, changes, clock, state } = world();
    add("d1", "unroutable", ann);
    state.refuses = ["d1+0"];
    clock.jump(8 * DAY);
    await sweep.sweep();
    expect([moves, changes.length]).toEqual([[], 1]);
  });

  test("that another node has moved are left alone, and nothing is said about them", async () => {
    const { sweep, add, moves, said, routes, state, connectors } = world();
    connectors.set("telegram", connector());
    routes.ann = { channel: "telegram", to: "5" };
    add("d1", "unroutable", ann);
    state.refuses = ["d1+0"];
    await sweep.sweep();
    expect([moves, said]).toEqual([[], []]);
  });

  test("are all looked at, also if there are more than a page, and each once", async () => {
    const { sweep, add, moves, routes, connectors } = world();
    connectors.set("telegram", connector());
    routes.ann = { channel: "telegram", to: "5" };
    for (let n = 0; n < 250; n++) add(`d${n}`, "unroutable", n % 2 === 0 ? ann : { channel: "person", to: "eve" });
    await sweep.sweep();
    expect(moves).toHaveLength(125);
  });
});

describe("deliveries in mailboxes", () => {
  test("are sent by a connector of that name which runs here, more than a page of them", async () => {
    const { sweep, add, moves, connectors } = world({ mailbox: { maxWaiting: 1_000 } });
    for (let n = 0; n < 101; n++) add(`d${n}`, "waiting-reader", { channel: "terminal", to: "owner" });
    add("other", "waiting-reader", box);
    connectors.set("api", connector({ isRemote: () => true }));
    connectors.set("terminal", connector({ isRemote: () => false }));
    await sweep.sweep();
    expect(moves).toHaveLength(101);
    expect(moves).not.toContain("other>pending");
  });

  test("that cannot be moved do not keep the pass busy", async () => {
    const { sweep, add, moves, connectors, state } = world({ mailbox: { maxWaiting: 1_000 } });
    for (let n = 0; n < 100; n++) add(`d${n}`, "waiting-reader", { channel: "terminal", to: "owner" });
    state.refuses = Array.from({ length: 100 }, (_, n) => `d${n}+0`);
    connectors.set("terminal", connector());
    await sweep.sweep();
    expect(moves).toEqual([]);
  });

  test.each([
    [30 * DAY, []],
    [30 * DAY + 1, ["d1>failed never read"]],
  ])("end after %i ms without a reader: %j", async (age, expected) => {
    const { sweep, add, moves, clock } = world();
    add("d1", "waiting-reader", box);
    clock.jump(age);
    add("d2", "waiting-reader", box);
    await sweep.sweep();
    expect(moves).toEqual(expected);
  });

  test("beyond the limit end with the oldest, in portions", async () => {
    const { sweep, add, moves } = world({ mailbox: { maxWaiting: 4 } });
    for (let n = 1; n <= 4 + 130; n++) add(`d${n}`, "waiting-reader", box);
    await sweep.sweep();
    expect(moves).toHaveLength(130);
    expect(moves[0]).toBe("d1>failed never read: the mailbox is full");
    expect(moves.at(-1)).toBe("d130>failed never read: the mailbox is full");
  });

  test("at the limit stay", async () => {
    const { sweep, add, moves } = world({ mailbox: { maxWaiting: 4 } });
    for (let n = 1; n <= 4; n++) add(`d${n}`, "waiting-reader", box);
    await sweep.sweep();
    expect(moves).toEqual([]);
  });
});

describe("when the sweep looks", () => {
  test("a hint is served after 100 ms, and many at once by one pass", async () => {
    const { sweep, pass, state } = world();
    sweep.hint();
    sweep.hint();
    await pass(99);
    expect(state.passes).toBe(0);
    await pass(1);
    expect(state.passes).toBe(1);
    await pass(DAY);
    expect(state.passes).toBe(1);
    sweep.hint();
    await pass(100);
    expect(state.passes).toBe(2);
  });

  test("a message that was accepted is a hint only while something has no route", async () => {
    const { sweep, add, pass, state, moves, routes, connectors } = world();
    sweep.accepted();
    await pass(1_000);
    expect(state.passes).toBe(0);
    add("d1", "unroutable", ann);
    sweep.added("waiting-reader");
    sweep.accepted();
    await pass(100);
    expect(state.passes).toBe(1);
    sweep.accepted();
    await pass(100);
    expect(state.passes).toBe(2);
    connectors.set("telegram", connector());
    routes.ann = { channel: "telegram", to: "5" };
    sweep.accepted();
    await pass(100);
    expect(moves).toEqual(["d1>pending"]);
    const { passes } = state;
    sweep.accepted();
    await pass(100);
    expect(state.passes).toBe(passes);
  });

  test("a delivery without a route is looked at soon, one in a mailbox when half of the limit was added", async () => {
    const { sweep, pass, state } = world({ mailbox: { maxWaiting: 4 } });
    sweep.added("waiting-reader");
    sweep.added("waiting-reader");
    await pass(1_000);
    expect(state.passes).toBe(0);
    sweep.added("waiting-reader");
    await pass(100);
    expect(state.passes).toBe(1);
    sweep.added("unroutable");
    await pass(100);
    expect(state.passes).toBe(2);
  });

  test("a poll is a hint after two seconds without a pass", async () => {
    const { sweep, pass, state } = world();
    sweep.polled();
    await pass(100);
    expect(state.passes).toBe(1);
    await pass(1_999);
    sweep.polled();
    await pass(1);
    expect(state.passes).toBe(1);
    sweep.polled();
    await pass(100);
    expect(state.passes).toBe(2);
  });

  test("while something waits, it looks every ten minutes", async () => {
    const { sweep, add, pass, state } = world();
    add("d1", "waiting-reader", box);
    await sweep.sweep();
    expect(state.passes).toBe(1);
    await pass(600_000);
    expect(state.passes).toBe(1);
    await pass(100);
    expect(state.passes).toBe(2);
    await pass(600_100);
    expect(state.passes).toBe(3);
  });

  test("while nothing waits, it sets no timer", async () => {
    const { sweep, clock } = world();
    await sweep.sweep();
    expect(clock.timers).toBe(0);
  });

  test("a delivery that was added is looked at after ten minutes at the latest", async () => {
    const { sweep, pass, state } = world({ mailbox: { maxWaiting: 1_000 } });
    sweep.added("waiting-reader");
    await pass(600_100);
    expect(state.passes).toBe(1);
  });

  test("a hint during a pass is served by another pass, and both callers wait for the end", async () => {
    const { sweep, state } = world();
    await Promise.all([sweep.sweep(), sweep.sweep()]);
    expect(state.passes).toBe(2);
    await sweep.sweep();
    expect(state.passes).toBe(3);
  });

  test("after an error of the store it tries again in five seconds", async () => {
    const { sweep, add, pass, moves, said, routes, connectors, state } = world();
    connectors.set("telegram", connector());
    routes.ann = { channel: "telegram", to: "5" };
    add("d1", "unroutable", ann);
    state.fails = 1;
    await sweep.sweep();
    expect([moves, said]).toEqual([[], ["deliveries that wait could not be checked now"]]);
    await pass(5_099);
    expect(moves).toEqual([]);
    await pass(1);
    expect(moves).toEqual(["d1>pending"]);
  });

  test("once stopped it sets no timer and begins no pass", async () => {
    const { sweep, add, pass, state, clock } = world();
    add("d1", "unroutable", ann);
    sweep.added("unroutable");
    expect(clock.timers).toBe(2);
    await sweep.stop();
    expect(clock.timers).toBe(0);
    sweep.hint();
    await sweep.sweep();
    await pass(DAY);
    expect(state.passes).toBe(0);
  });

  test("a stop during a pass leaves no timer, and neither does what is added later", async () => {
    for (const fails of [0, 1]) {
      const { sweep, add, clock, state, routes, connectors } = world();
      connectors.set("telegram", connector());
      routes.ann = { channel: "telegram", to: "5" };
      add("d1", "unroutable", ann);
      add("d2", "waiting-reader", box);
      state.fails = fails;
      const passing = sweep.sweep();
      const stopped = sweep.stop();
      await Promise.all([passing, stopped]);
      sweep.added("waiting-reader");
      sweep.added("unroutable");
      expect([fails, clock.timers]).toEqual([fails, 0]);
    }
  });

  test("a failure to end what nobody has read ends the pass, and the next one tries again", async () => {
    const { sweep, add, pass, moves, said, clock, state } = world();
    add("d1", "waiting-reader", box);
    add("d2", "waiting-reader", box);
    clock.jump(31 * DAY);
    state.fails = 1;
    await sweep.sweep();
    expect([moves, said]).toEqual([[], ["deliveries that wait could not be checked now"]]);
    await pass(5_100);
    expect(moves.map((move) => move.split(" ")[0])).toEqual(["d1>failed", "d2>failed"]);
  });

  test("a failure to end what is too much for a mailbox ends the pass, and the next one ends the rest", async () => {
    const { sweep, add, pass, moves, said, state } = world({ mailbox: { maxWaiting: 4 } });
    for (let n = 1; n <= 4 + 130; n++) add(`d${n}`, "waiting-reader", box);
    state.fails = 1;
    await sweep.sweep();
    // The others of the portion are ended, and no further portion is begun.
    expect([moves.length, said]).toEqual([99, ["deliveries that wait could not be checked now"]]);
    await pass(5_100);
    expect([moves.length, said.length]).toEqual([130, 1]);
    expect(moves.map((move) => move.split(" ")[0])).toContain("d1>failed");
  });

  test("a stop waits for the pass that is active", async () => {
    const { sweep, add, moves, clock } = world();
    for (let n = 0; n < 3; n++) add(`d${n}`, "unroutable", ann);
    clock.jump(8 * DAY);
    void sweep.sweep();
    await sweep.stop();
    const { length } = moves;
    await settled();
    expect(moves).toHaveLength(length);
  });
});

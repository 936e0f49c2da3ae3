/** One turn of the outbox after another, on a list of deliveries in memory: waits, jumps of the clock, missing channels, stops. */
import { describe, expect, it, test } from "vitest";
import { START, virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../test/kit/log.ts";
import type { Delivery, DeliveryContext } from "../../core/delivery/delivery.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { SendResult } from "../../core/ports/connector.ts";
import type { Change, CommitResult, Op } from "../../core/store/change.ts";
import { DEFAULT_OUTBOX, Outbox, type OutboxOptions, type OutboxPorts } from "./outbox.ts";

const HOUR = 3600_000;
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const SENT: SendResult = { status: "sent" };

interface Setup {
  readonly send?: (delivery: { id: string }, n: number) => SendResult | Promise<SendResult>;
  readonly options?: Partial<OutboxOptions>;
  readonly ports?: Partial<OutboxPorts>;
  /** Undefined: there is no such channel. */
  readonly channel?: object | undefined;
  /** Decides before each commit. */
  readonly onCommit?: (change: Change) => "go" | "fail" | "refuse";
}

function setup(made: readonly Partial<Delivery>[], { send = () => SENT, options, ports, ...more }: Setup = {}) {
  const clock = virtualClock();
  const deliveries = made.map(
    (one, n): Delivery =>
      ({
        ...{ id: `d${n + 1}`, n: n + 1, agentId: "a", target: { channel: "test", to: "ann" }, payload: { text: "hi" } },
        ...{ state: "pending", attempts: 0, createdAt: START, nextAt: START },
        ...one,
      }) as Delivery,
  );
  const commits: Change[] = [];
  const calls: { id: string; at: number }[] = [];
  const waiting: unknown[] = [];
  const log: LogLine[] = [];
  const move = (op: Extract<Op, { op: "delivery.move" }>): boolean => {
    const at = deliveries.findIndex(({ id, state }) => id === op.id && state === op.from);
    const before = deliveries[at];
    if (!before) return false;
    const attempts = op.to === "sending" ? before.attempts + 1 : before.attempts;
    deliveries[at] = { ...before, ...op, state: op.to, attempts, nextAt: op.nextAt ?? before.nextAt } as never;
    return true;
  };
  const store = {
    deliveryHead: async (key: string) =>
      deliveries.find(({ target, state }) => targetKey(target) === key && ["pending", "sending"].includes(state)),
    deliveries: async ({ afterN = 0 }) =>
      deliveries.filter(({ n, state }) => n > afterN && ["pending", "sending"].includes(state)),
    commit: async (change: Change): Promise<CommitResult> => {
      const decision = more.onCommit?.(change) ?? "go";
      if (decision === "fail") throw new StoreUnavailableError("the disk is full");
      commits.push(change);
      if (decision === "refuse") return { ok: false, refused: "missing", detail: "gone" } as never;
      const [first] = change.ops;
      if (first?.op === "delivery.move" && !move(first)) return { ok: false, refused: "conflict", detail: "" } as never;
      return { ok: true, results: change.ops.map((op) => ({ op: op.op })) } as never;
    },
    outcome: async () => undefined,
    nodes: async () => [],
  };
  const connector = {
    ...{ sendingClass: "ambiguous", capabilities: { sendText: true } },
    send: async ({ id }: { id: string }) => {
      calls.push({ id, at: clock.monotonic() });
      return send({ id }, calls.length);
    },
    ...more.channel,
  };
  const hasChannel = !("channel" in more) || more.channel !== undefined;
  const outbox = new Outbox(
    {
      ...{ clock, ids: seededIds("outbox"), store, log: recordingLog(log) },
      connectors: new Map(hasChannel ? [["test", connector]] : []),
      waiting: (state: string, target: DeliveryContext) => waiting.push([state, target]),
      ...ports,
    } as unknown as OutboxPorts,
    { node: 1, alone: true, ...DEFAULT_OUTBOX, ...options },
  );
  const advance = (ms: number): Promise<void> => clock.advance(ms, turn);
  const states = (): readonly string[] => deliveries.map(({ state }) => state);
  return { outbox, clock, advance, deliveries, states, commits, calls, waiting, log };
}

describe("a delay before the next try", () => {
  const busy = (_: unknown, n: number): SendResult => (n === 1 ? { status: "retry", reason: "busy" } : SENT);

  it("is over when it has passed in this process, even if the wall clock was set back", async () => {
    const { outbox, clock, advance, calls, states } = setup([{}], { send: busy });
    await outbox.scan();
    await advance(0);
    expect([calls.length, states()]).toEqual([1, ["pending"]]);
    clock.jump(-HOUR);
    await advance(2_000);
    expect([calls.length, states()]).toEqual([2, ["sent"]]);
  });

  it("from before a restart is waited for, and looked at again soon, in case the wall clock has moved", async () => {
    const { outbox, advance, calls } = setup([{ attempts: 1, nextAt: START + 500 }]);
    await outbox.scan();
    await advance(499);
    expect(calls).toEqual([]);
    await advance(1);
    expect(calls).toHaveLength(1);
    const far = setup([{ attempts: 1, nextAt: START + HOUR }]);
    await far.outbox.scan();
    await far.advance(0);
    far.clock.jump(HOUR);
    await far.advance(3 * DEFAULT_OUTBOX.retryMinMs);
    expect(far.calls).toHaveLength(1);
  });

  it("that was waited for once belongs to one delivery: the next one waits its own", async () => {
    const { outbox, clock, advance, calls } = setup([{}, { nextAt: START + 1_500, attempts: 1 }], { send: busy });
    await outbox.scan();
    await advance(0);
    clock.jump(-100);
    await advance(1_300);
    expect(calls.map(({ id }) => id)).toEqual(["d1", "d1"]);
    await advance(1_000);
    expect(calls.map(({ id }) => id)).toEqual(["d1", "d1", "d2"]);
  });
});

describe("a delivery without a channel", () => {
  const mailbox = { channel: "api", to: "ann", threadId: "t" };
  test.each([
    [
      "to a mailbox waits for its reader there, from now on",
      mailbox,
      { to: "waiting-reader", toTail: true, target: { channel: "api", to: "ann" } },
      ["waiting-reader", { channel: "api", to: "ann" }],
    ],
    [
      "to a channel waits for a route, with its age",
      { channel: "gone", to: "ann" },
      { to: "unroutable", reason: 'no connector "gone"' },
      ["unroutable", { channel: "gone", to: "ann" }],
    ],
  ])("%s", async (_, target, expected, told) => {
    const { outbox, advance, commits, waiting } = setup([{ target: target as never }], { channel: undefined });
    await outbox.scan();
    await advance(0);
    expect(commits).toHaveLength(1);
    expect(commits[0]?.ops).toEqual([{ op: "delivery.move", id: "d1", from: "pending", attempts: 0, ...expected }]);
    expect(waiting).toEqual([told]);
  });

  it("is left for a minute to another node that may have it", async () => {
    const { outbox, advance, states } = setup([{}], { channel: undefined, options: { alone: false } });
    await outbox.scan();
    await advance(60_000);
    expect(states()).toEqual(["pending"]);
    await advance(60_000);
    expect(states()).toEqual(["unroutable"]);
  });

  it("on this node is sent as soon as the channel comes here, or something is added for its target", async () => {
    for (const how of ["scan", "offer"] as const) {
      let here = false;
      const channel = { isRemote: () => !here };
      const { outbox, advance, calls, deliveries } = setup([{}], { channel });
      await outbox.scan();
      await advance(0);
      expect(calls).toEqual([]);
      here = true;
      if (how === "scan") await outbox.scan();
      else outbox.offer(deliveries as never);
      await advance(0);
      expect([how, calls.length]).toEqual([how, 1]);
    }
  });
});

describe("what is offered", () => {
  it("is sent, unless it has ended or waits for someone", async () => {
    const target = { channel: "api", to: "ann" };
    const { outbox, advance, calls, waiting } = setup([{}]);
    outbox.offer([
      { id: "e", target, ended: {} },
      { id: "w", target, waits: { state: "waiting-reader" } },
    ] as never);
    await advance(0);
    expect([calls, waiting]).toEqual([[], [["waiting-reader", target]]]);
    outbox.offer([{ id: "d1", target: { channel: "test", to: "ann" } }] as never);
    await advance(0);
    expect(calls).toMatchObject([{ id: "d1" }]);
  });

  it("as the first of its target is sent without a read of the store", async () => {
    const { outbox, advance, calls, deliveries } = setup([{}]);
    const [delivery] = deliveries;
    outbox.offer([delivery] as never, [{ op: "delivery.add", next: "d1" }] as never);
    await advance(0);
    expect([calls.length, deliveries[0]?.state, outbox.size]).toEqual([1, "sent", 0]);
  });
});

describe("a stop", () => {
  it("ends a commit that fails again and again, and the delivery is settled by the next process", async () => {
    const { outbox, advance, calls, states } = setup([{}], {
      onCommit: ({ site }) => (site === "outbox.sent" ? "fail" : "go"),
    });
    await outbox.scan();
    await advance(30_000);
    let stopped = false;
    const done = outbox.stop().then(() => {
      stopped = true;
    });
    await advance(20_000);
    expect(stopped).toBe(true);
    await done;
    expect([calls.length, states()]).toEqual([1, ["sending"]]);
  });

  it("waits for the sends under way, whose outcome is committed", async () => {
    const { promise, resolve } = Promise.withResolvers<SendResult>();
    const { outbox, advance, states } = setup([{}], { send: () => promise });
    await outbox.scan();
    await advance(0);
    let stopped = false;
    const done = outbox.stop().then(() => {
      stopped = true;
    });
    await advance(10);
    expect([stopped, states()]).toEqual([false, ["sending"]]);
    resolve(SENT);
    await done;
    expect(states()).toEqual(["sent"]);
  });

  it("begins no send", async () => {
    const { outbox, advance, calls } = setup([{}]);
    await outbox.stop();
    await outbox.scan();
    await advance(HOUR);
    expect(calls).toEqual([]);
  });
});

describe("the end of a delivery that belongs to a trigger", () => {
  const told: Op = { op: "message.post", to: { agentId: "a" }, message: {} } as never;
  const slotted = { payload: { text: "hi", slot: { job: "j", slot: "s" } } } as never;

  it("is reported in the same commit, and its messages wake their agents", async () => {
    const posted: unknown[] = [];
    const ended: unknown[] = [];
    const opsOnDelivered = async (_: Delivery, end: object) => {
      ended.push(end);
      return [told];
    };
    const ports = { opsOnDelivered, posted: (all: unknown) => posted.push(all) } as never;
    const { outbox, advance, commits } = setup([slotted], { ports });
    await outbox.scan();
    await advance(0);
    expect(ended).toEqual([{ to: "sent", receipt: undefined }]);
    expect(commits.map(({ site, ops }) => [site, ops.length])).toEqual([
      ["outbox.sending", 1],
      ["outbox.sent", 2],
    ]);
    expect(commits[1]?.ops[1]).toMatchObject({ op: "message.post", claimFor: 1 });
    expect(posted).toEqual([[{ op: "message.post" }]]);
  });

  it("is committed alone if the report is refused, or cannot be made", async () => {
    const refused = setup([slotted], {
      ports: { opsOnDelivered: async () => [told] },
      onCommit: ({ ops }) => (ops.length > 1 ? "refuse" : "go"),
    });
    await refused.outbox.scan();
    await refused.advance(0);
    expect(refused.states()).toEqual(["sent"]);
    const broken = setup([slotted], { ports: { opsOnDelivered: () => Promise.reject(new Error("no")) } });
    await broken.outbox.scan();
    await broken.advance(0);
    expect([broken.calls.length, broken.states()]).toEqual([1, ["sent"]]);
    expect(broken.log.map(({ level }) => level)).toEqual(["warn"]);
  });
});

describe("a move that another node was quicker with", () => {
  it("is not followed by a send; the target is read again shortly after", async () => {
    let refuse = true;
    const { outbox, advance, calls } = setup([{}], {
      onCommit: () => (refuse ? "refuse" : "go"),
    });
    await outbox.scan();
    await advance(49);
    expect(calls).toEqual([]);
    refuse = false;
    await advance(1);
    expect(calls).toHaveLength(1);
  });
});

/** When a turn of the outbox waits, and for how long exactly: retries, lookups, other nodes, people and channels that hold it back. */

import { describe, expect, it, test } from "vitest";
import { START } from "../../../test/kit/clock.ts";
import { outboxDefaults } from "../../config/sections/outbox.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import type { SendResult } from "../../core/ports/connector.ts";
import { backoffMs } from "./backoff.ts";
import { HOUR, SENT, setup } from "./outbox.test-kit.ts";

const UNKNOWN: SendResult = { status: "unknown", reason: "no answer" };
const maxAgeMs = outboxDefaults.maxAgeHours * HOUR;
const sendTimeoutMs = 60_000;
const absentAfterMs = 5_000;
const times = (calls: readonly { at: number }[]): readonly number[] => calls.map(({ at }) => at);
const atFirst =
  (result: SendResult) =>
  (_: unknown, n: number): SendResult =>
    n === 1 ? result : SENT;

describe("a send that the channel did not take", () => {
  test.each([
    ["longer than the channel asks, if that is less than its turn", 10, backoffMs("d1", 1)],
    ["as long as the channel asks", 5_000, 5_000],
    ["by its number of tries, if the channel asks for nothing", undefined, backoffMs("d1", 1)],
  ])("waits %s", async (_, afterMs, ms) => {
    const { outbox, advance, calls, deliveries, commits } = setup([{}], {
      send: atFirst({ status: "retry", reason: "busy", afterMs }),
    });
    await outbox.scan();
    await advance(0);
    expect(deliveries[0]).toMatchObject({ state: "pending", attempts: 1, reason: "busy", nextAt: START + ms });
    await advance(HOUR);
    expect(calls).toEqual([
      { id: "d1", at: 0, attempt: 1 },
      { id: "d1", at: ms, attempt: 2 },
    ]);
    expect(commits.map(({ site }) => site)).toEqual([
      "outbox.sending",
      "outbox.pending",
      "outbox.sending",
      "outbox.sent",
    ]);
  });

  it("blocks its target until it is too old, and not a millisecond longer", async () => {
    const send = atFirst({ status: "retry", reason: "flood", afterMs: 7 * 24 * HOUR });
    const { outbox, advance, calls, deliveries } = setup([{}, { createdAt: START + HOUR, nextAt: START + HOUR }], {
      send,
    });
    await outbox.scan();
    await advance(maxAgeMs);
    expect(calls).toHaveLength(1);
    await advance(1);
    expect(deliveries).toMatchObject([{ state: "failed", reason: "too old; last: flood" }, { state: "sent" }]);
    expect(times(calls)).toEqual([0, maxAgeMs + 1]);
  });

  it("at its last moment is tried again; one that is past it and was never tried fails without a reason of a channel", async () => {
    const { outbox, advance, deliveries } = setup([{ createdAt: START - maxAgeMs }]);
    await outbox.scan();
    await advance(0);
    expect(deliveries).toMatchObject([{ state: "sent" }]);
    const past = setup([{ createdAt: START - maxAgeMs - 1 }]);
    await past.outbox.scan();
    await past.advance(0);
    expect([past.calls, past.deliveries]).toMatchObject([[], [{ state: "failed", reason: "too old" }]]);
  });
});

describe("a send whose outcome is unknown, on a channel that can be asked", () => {
  /** `answers`: of the lookups, in turn; the last one again and again. */
  const asked = (answers: readonly string[], send: (_: unknown, n: number) => SendResult = atFirst(UNKNOWN)) => {
    const at: number[] = [];
    const lookup = async (): Promise<string> => {
      at.push(world.clock.monotonic());
      return answers[Math.min(at.length, answers.length) - 1] ?? "";
    };
    const world = setup([{}], { send, channel: { sendingClass: "reconcilable", lookup } });
    return { ...world, at };
  };

  it("is sent again when it was absent for the time that it may be on its way", async () => {
    const { outbox, advance, at, calls } = asked(["absent"]);
    await outbox.scan();
    await advance(HOUR);
    expect(at).toEqual([0, absentAfterMs]);
    expect(times(calls)).toEqual([0, absentAfterMs + backoffMs("d1", 1)]);
  });

  it("counts that time anew for each send", async () => {
    const send = (_: unknown, n: number): SendResult => (n < 3 ? UNKNOWN : SENT);
    const { outbox, advance, at } = asked(["absent"], send);
    await outbox.scan();
    await advance(HOUR);
    const again = absentAfterMs + backoffMs("d1", 1);
    expect(at).toEqual([0, absentAfterMs, again, again + absentAfterMs]);
  });

  it("counts it from the first question, also if the channel gave no answer then", async () => {
    const { outbox, advance, at } = asked(["unknown", "absent"]);
    await outbox.scan();
    await advance(HOUR);
    expect(at).toEqual([0, backoffMs("d1", 1), absentAfterMs]);
  });

  it("is asked about less and less often until it is too old", async () => {
    const { outbox, advance, at, states, deliveries } = asked(["unknown"]);
    await outbox.scan();
    await advance(60_000);
    const waits = at.slice(1, 6).map((ms, n) => ms - (at[n] ?? 0));
    expect(waits).toEqual([1, 2, 3, 4, 5].map((n) => backoffMs("d1", n)));
    await advance(maxAgeMs - 60_000);
    expect(states()).toEqual(["sending"]);
    await advance(HOUR);
    expect(deliveries).toMatchObject([{ state: "unconfirmed", reason: "no answer" }]);
  });

  it("is sent, if it has arrived", async () => {
    const { outbox, advance, calls, states } = asked(["arrived"]);
    await outbox.scan();
    await advance(0);
    expect([calls.length, states()]).toEqual([1, ["sent"]]);
  });
});

describe("a send that another node began", () => {
  const theirs = { state: "sending", node: 2, attempts: 1 } as const;
  const other = (leaseUntil: number, left = false) => [{ node: 2, name: "other", leaseUntil, left }];

  test.each([
    ["idempotent", other(START + 10_000), 10_000],
    ["idempotent", other(START + 10_001), 12_000],
    ["idempotent", other(START), 0],
    ["idempotent", other(START + HOUR, true), 0],
    ["idempotent", [], 0],
    ["ambiguous", other(START), sendTimeoutMs + 2_000],
    ["ambiguous", other(START + HOUR, true), 0],
  ])("%s, known as %j: is settled here after %i ms", async (sendingClass, nodes, ms) => {
    const { outbox, advance, states } = setup([theirs], { channel: { sendingClass }, nodes });
    await outbox.scan();
    await advance(ms - 1);
    expect(states()).toEqual(ms > 0 ? ["sending"] : states());
    await advance(1);
    expect(states()).toEqual([sendingClass === "idempotent" ? "pending" : "unconfirmed"]);
  });

  it("says that the process stopped, if nothing else is known", async () => {
    const { outbox, advance, deliveries } = setup([{ ...theirs, node: 1 }]);
    await outbox.scan();
    await advance(0);
    expect(deliveries).toMatchObject([{ state: "unconfirmed", reason: "the process stopped while it was sending" }]);
  });

  it("that a later turn gives up keeps the reason of its own send", async () => {
    let here = true;
    const { outbox, advance, deliveries } = setup([{}], {
      send: () => {
        here = false;
        return UNKNOWN;
      },
      channel: { isRemote: () => !here, sendingClass: "reconcilable", lookup: async () => "unknown" },
    });
    await outbox.scan();
    await advance(maxAgeMs + HOUR);
    expect(deliveries).toMatchObject([{ state: "unconfirmed", reason: "no answer" }]);
  });

  it("to a channel that is not here is settled when the channel comes, which is looked at every thirty seconds", async () => {
    let here = false;
    const { outbox, advance, states } = setup([{ ...theirs, node: 1 }], { channel: { isRemote: () => !here } });
    await outbox.scan();
    await advance(29_999);
    here = true;
    expect(states()).toEqual(["sending"]);
    await advance(1);
    expect(states()).toEqual(["unconfirmed"]);
  });
});

describe("what is held back", () => {
  const held = (ms: number, options: object = {}) => {
    const hold = { ms };
    const heldMs = async (): Promise<number> => hold.ms;
    return { ...setup([{}, { target: { channel: "test", to: "bob" } }], { ports: { heldMs }, ...options }), hold };
  };

  it("by a person's quiet hours goes when they end, and is not marked before", async () => {
    const { outbox, advance, calls, commits, hold } = held(5_000);
    await outbox.scan();
    await advance(4_999);
    hold.ms = 0;
    expect([calls, commits]).toEqual([[], []]);
    await advance(1);
    expect(times(calls)).toEqual([5_000, 5_000]);
  });

  it("goes with an answer to the same target, and that to other targets does not", async () => {
    const { outbox, advance, calls, deliveries, hold } = held(HOUR);
    await outbox.scan();
    await advance(0);
    hold.ms = 0;
    outbox.offer(deliveries.slice(0, 1));
    await advance(1_000);
    expect(calls).toMatchObject([{ id: "d1", at: 0 }]);
    await advance(HOUR);
    expect(times(calls)).toEqual([0, HOUR]);
  });

  it("goes with an answer also if that comes while it is decided whether it is held", async () => {
    const decided = Promise.withResolvers<number>();
    const answers = [decided.promise, Promise.resolve(0)];
    const heldMs = async (): Promise<number> => (await answers.shift()) ?? 0;
    const { outbox, advance, calls, deliveries } = setup([{}], { ports: { heldMs } });
    await outbox.scan();
    await advance(0);
    outbox.offer(deliveries);
    decided.resolve(HOUR);
    await advance(0);
    expect(times(calls)).toEqual([0]);
  });

  it("is not sent by an answer that comes after a stop", async () => {
    const { outbox, advance, calls, deliveries, hold } = held(HOUR);
    await outbox.scan();
    await advance(0);
    hold.ms = 0;
    await outbox.stop();
    outbox.offer(deliveries.slice(0, 1));
    outbox.nudge({ channel: "test", to: "bob" });
    await advance(2 * HOUR);
    expect(calls).toEqual([]);
  });

  it("by the channel's rate waits exactly as long as the channel says", async () => {
    const left = [700, 300, 0];
    const { outbox, advance, calls, commits } = setup([{}], { channel: { admit: () => left.shift() ?? 0 } });
    await outbox.scan();
    await advance(999);
    expect(commits).toEqual([]);
    await advance(1);
    expect(times(calls)).toEqual([1_000]);
  });

  it("waits also when more is added for a target that waits for its next try", async () => {
    const send = atFirst({ status: "retry", reason: "busy", afterMs: 5_000 });
    const { outbox, advance, calls, deliveries } = setup([{}], { send });
    await outbox.scan();
    await advance(0);
    outbox.offer(deliveries as readonly Delivery[]);
    await outbox.scan();
    await advance(4_999);
    expect(calls).toHaveLength(1);
    outbox.nudge({ channel: "test", to: "ann" });
    await advance(0);
    expect(times(calls)).toEqual([0, 4_999]);
  });
});

describe("a wait that is over", () => {
  const busy: SendResult = { status: "retry", reason: "busy", afterMs: 90_000 };
  test.each([
    ["for a connector of another node", 30_000, "elsewhere"],
    ["for the end of quiet hours", 7_000, "held"],
  ])("%s is forgotten: more for its target does not shorten the next wait", async (_, ms, first) => {
    let why: string | undefined = first;
    const { outbox, advance, calls, deliveries } = setup([{}], {
      send: atFirst(busy),
      channel: { isRemote: () => why === "elsewhere" },
      ports: { heldMs: async () => (why === "held" ? ms : 0) },
    });
    await outbox.scan();
    await advance(ms - 1);
    why = undefined;
    await advance(1);
    expect(times(calls)).toEqual([ms]);
    outbox.offer(deliveries);
    await outbox.scan();
    await advance(89_999);
    expect(calls).toHaveLength(1);
    await advance(1);
    expect(times(calls)).toEqual([ms, ms + 90_000]);
  });

  test.each<[string, object, (left: () => number) => object]>([
    ["a retry", { attempts: 1, nextAt: START + 1 }, () => ({})],
    ["quiet hours", {}, (left) => ({ ports: { heldMs: async () => left() } })],
    ["a channel's rate", {}, (left) => ({ channel: { admit: left } })],
  ])("of one millisecond, for %s, is waited for", async (_, made, more) => {
    const left = [1, 0];
    const { outbox, advance, calls } = setup(
      [made],
      more(() => left.shift() ?? 0),
    );
    await outbox.scan();
    await advance(10);
    expect(times(calls)).toEqual([1]);
  });
});

describe("a channel that does not answer", () => {
  const never = new Promise<never>(() => {});

  it("has a minute for a send, whose outcome is unknown then", async () => {
    const { outbox, advance, deliveries, states } = setup([{}], { send: () => never });
    await outbox.scan();
    await advance(sendTimeoutMs - 1);
    expect(states()).toEqual(["sending"]);
    await advance(1);
    expect(deliveries).toMatchObject([{ state: "unconfirmed", reason: "timed out" }]);
  });

  it("has a minute for each question too", async () => {
    const at: number[] = [];
    const lookup = (): Promise<never> => {
      at.push(world.clock.monotonic());
      return never;
    };
    const world = setup([{}], { send: () => UNKNOWN, channel: { sendingClass: "reconcilable", lookup } });
    await world.outbox.scan();
    await world.advance(2 * sendTimeoutMs);
    expect(at).toEqual([0, sendTimeoutMs + backoffMs("d1", 1)]);
  });

  test.each(["ambiguous", "idempotent"])("is not asked if it is %s", async (sendingClass) => {
    let asked = 0;
    const lookup = async (): Promise<string> => `arrived ${++asked}`;
    const { outbox, advance } = setup([{}], { send: atFirst(UNKNOWN), channel: { sendingClass, lookup } });
    await outbox.scan();
    await advance(HOUR);
    expect(asked).toBe(0);
  });
});

it("a repeated send that has become too old ends at once", async () => {
  const made = { state: "sending", node: 1, attempts: 3, createdAt: START - maxAgeMs - HOUR } as const;
  const { outbox, advance, deliveries } = setup([made], { channel: { sendingClass: "idempotent" } });
  await outbox.scan();
  await advance(1);
  expect(deliveries).toMatchObject([
    { state: "failed", reason: "too old; last: the process stopped while it was sending" },
  ]);
});

it("another node gets a minute for each try of a delivery, however old it is", async () => {
  const made = { createdAt: START - HOUR, nextAt: START };
  const { outbox, advance, states } = setup([made], { channel: undefined, options: { alone: false } });
  await outbox.scan();
  await advance(60_000);
  expect(states()).toEqual(["pending"]);
  await advance(30_000);
  expect(states()).toEqual(["unroutable"]);
});

describe("a delivery that is offered as the first of its target", () => {
  const first = [{ op: "delivery.add", next: "d1" }] as never;

  it("is not sent if it has ended", async () => {
    const { outbox, advance, calls, deliveries } = setup([{}]);
    outbox.offer([{ ...(deliveries[0] as Delivery), ended: { state: "suppressed", reason: "r" } }], first);
    await advance(HOUR);
    expect(calls).toEqual([]);
  });

  it("is read from the store for its next try", async () => {
    const { outbox, advance, calls, deliveries, reads } = setup([{}], {
      send: atFirst({ status: "retry", reason: "busy" }),
    });
    outbox.offer(deliveries, first);
    await advance(HOUR);
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(reads).toEqual(["head ann", "head ann"]);
  });
});

describe("reads of the store", () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ target: { channel: "test", to: `p${n}` } }));

  it("for a scan are pages of 500, and what stands on the next page is sent too", async () => {
    const { outbox, advance, calls, reads } = setup(many(501));
    await outbox.scan();
    expect(reads.filter((read) => read.includes("after"))).toEqual(["500 after 0", "500 after 500"]);
    await advance(0);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(501);
  });

  test.each([
    ["nothing, if this node is alone and the delivery was the only one", true, true, []],
    ["for more, if other nodes may have added some", false, true, ["head ann"]],
    ["for it and for more, if others wait before it", true, false, ["head ann", "head ann"]],
  ])("an offered delivery reads %s", async (_, alone, isFirst, expected) => {
    const { outbox, advance, calls, deliveries, reads } = setup([{}], { options: { alone } });
    outbox.offer(deliveries, [undefined, { op: "delivery.add", next: isFirst ? "d1" : "d0" }] as never);
    await advance(0);
    expect([reads, calls.length, outbox.size]).toEqual([expected, 1, 0]);
  });

  it("that fail are tried again after a second, with a line in the log", async () => {
    let fails = true;
    const heldMs = async (): Promise<number> => {
      if (fails) throw new TypeError("no person");
      return 0;
    };
    const { outbox, advance, calls, log } = setup([{}], { ports: { heldMs } });
    await outbox.scan();
    await advance(0);
    fails = false;
    await advance(999);
    expect([calls, log]).toMatchObject([[], [{ level: "warn" }]]);
    await advance(1);
    expect(times(calls)).toEqual([1_000]);
  });
});

describe("a refused send", () => {
  test.each([
    [true, ["delivery.move", "message.post"]],
    [undefined, ["delivery.move"]],
  ] as const)("is told to the agent: %s", async (tell, ops) => {
    const { outbox, advance, commits, deliveries } = setup([{}], {
      send: () => ({ status: "refused", reason: "blocked", tell }),
    });
    await outbox.scan();
    await advance(0);
    expect(commits.at(-1)?.ops.map(({ op }) => op)).toEqual(ops);
    expect(deliveries).toMatchObject([{ state: "failed", reason: "blocked" }]);
  });
});

describe("a delivery of a trigger that no connector sends", () => {
  test.each([
    ["with", { jobId: "j", slot: "s" }, [{ to: "unroutable", reason: 'no connector "gone"' }]],
    ["without", undefined, []],
  ])("%s a slot tells its trigger where it waits: %j", async (_, slot, expected) => {
    const told: unknown[] = [];
    const opsOnDelivered = async (_one: Delivery, end: object): Promise<[]> => {
      told.push(end);
      return [];
    };
    const made = { target: { channel: "gone", to: "ann" }, payload: { text: "hi", slot } };
    const { outbox, advance, states } = setup([made], { ports: { opsOnDelivered } });
    await outbox.scan();
    await advance(0);
    expect([told, states()]).toEqual([expected, ["unroutable"]]);
  });

  test.each([
    ["with", { jobId: "j", slot: "s" }, 1],
    ["without", undefined, 0],
  ])("%s a slot and sent tells its trigger, if there is one to tell", async (_, slot, told) => {
    let times = 0;
    const opsOnDelivered = async (): Promise<[]> => {
      times += 1;
      return [];
    };
    const made = { payload: { text: "hi", slot } };
    for (const ports of [{ opsOnDelivered }, {}]) {
      const { outbox, advance, states, log } = setup([made], { ports });
      await outbox.scan();
      await advance(0);
      expect([states(), log]).toEqual([["sent"], []]);
    }
    expect(times).toBe(told);
  });
});

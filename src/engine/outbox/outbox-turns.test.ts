/** One turn of the outbox after another, on a list of deliveries in memory: waits, jumps of the clock, missing channels, stops. */

import { describe, expect, it, test } from "vitest";
import { START } from "../../../test/kit/clock.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import type { SendResult } from "../../core/ports/connector.ts";
import type { Op } from "../../core/store/change.ts";
import { backoffMs } from "./backoff.ts";
import { HOUR, SENT, setup } from "./outbox.test-kit.ts";

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
    await far.advance(3 * 1_000);
    expect(far.calls).toHaveLength(1);
  });

  test.each([
    ["of a first try that came soon after", 1, 1_200, 2 * backoffMs("d1", 1)],
    ["that the channel asked for", 1, 90_000, 90_000],
    ["of a later try", 4, 500, 2 * backoffMs("d1", 4)],
    ["of a delivery that was never tried", 0, 90_000, 0],
  ])(
    "%s is over after the longest it can be, if the wall clock was set back before a restart",
    async (_, attempts, ms, at) => {
      const { outbox, clock, advance, calls } = setup([{ attempts, nextAt: START + ms }]);
      clock.jump(-HOUR);
      await outbox.scan();
      await advance(2 * 90_000);
      expect(calls).toEqual([{ id: "d1", at, attempt: attempts + 1 }]);
    },
  );

  it("is counted for each delivery alone after such a restart", async () => {
    const late = { attempts: 1, nextAt: START + 90_000 };
    const { outbox, clock, advance, calls } = setup([late, late]);
    clock.jump(-HOUR);
    await outbox.scan();
    await advance(HOUR / 2);
    expect(calls.map(({ at }) => at)).toEqual([90_000, 180_000]);
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

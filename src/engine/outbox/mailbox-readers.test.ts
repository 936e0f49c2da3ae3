/** Readers of mailboxes on a list in memory: what they are shown and when, and how an acknowledgement ends. */
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import { type LogLine, recordingLog } from "../../../test/kit/log.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import { apiMailbox } from "../../core/delivery/route.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { Change, Op } from "../../core/store/change.ts";
import { Mailboxes } from "./mailboxes.ts";

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
const [ann, bob] = [apiMailbox("ann"), apiMailbox("bob")];

function world({ shared = true, opsOnDelivered }: { shared?: boolean; opsOnDelivered?: () => Promise<Op[]> } = {}) {
  const clock = virtualClock();
  const waiting: Delivery[] = [];
  const reads: string[] = [];
  const commits: Change[] = [];
  const lines: LogLine[] = [];
  const posted: unknown[] = [];
  const state = {
    fails: false,
    /** Set: a read waits for it. */
    held: undefined as Promise<void> | undefined,
    /** How the store answers a commit. */
    answer: (_change: Change): boolean => true,
  };
  const store = {
    mailbox: async (key: string, { afterN, limit }: { afterN: number; limit: number }) => {
      reads.push(`${JSON.parse(key).to} ${limit} after ${afterN}`);
      const page = waiting.filter(({ target, n }) => targetKey(target) === key && n > afterN).slice(0, limit);
      await state.held;
      if (state.fails) throw new Error("no store");
      return page;
    },
    delivery: async (id: string) => waiting.find((one) => one.id === id),
    commit: async (change: Change) => {
      commits.push(change);
      return state.answer(change)
        ? { ok: true, results: change.ops.map(({ op }) => ({ op })) }
        : { ok: false, refused: "conflict", detail: "" };
    },
  };
  const ports = {
    ...{ clock, store, ids: seededIds("mailbox"), log: recordingLog(lines), opsOnDelivered },
    ...{ claimFor: () => 4, posted: (all: unknown) => posted.push(all) },
  };
  const mailboxes = new Mailboxes(ports as never, { shared });
  const add = (id: string, more: object = {}): void => {
    const n = (waiting.at(-1)?.n ?? 0) + 1;
    waiting.push({ ...{ id, n, target: ann, state: "waiting-reader", payload: { text: id } }, ...more } as Delivery);
  };
  const shown: string[] = [];
  const follow = (mailbox = [ann]) => mailboxes.follow(mailbox, ({ id }) => shown.push(id));
  const pass = (ms: number): Promise<void> => clock.advance(ms, turn);
  return { mailboxes, clock, waiting, reads, commits, lines, posted, state, add, shown, follow, pass };
}

describe("a follower of a mailbox", () => {
  it.each([
    [true, 2_000],
    [false, 60_000],
  ])("on a store that others use (%s) looks every %i ms", async (shared, ms) => {
    const { follow, add, pass, shown, clock } = world({ shared });
    const stop = follow();
    await pass(0);
    add("d1");
    await pass(ms - 1);
    expect(shown).toEqual([]);
    await pass(1);
    expect(shown).toEqual(["d1"]);
    expect(clock.timers).toBe(1);
    stop();
    expect(clock.timers).toBe(0);
  });

  it("is shown more than a page, in order and each once", async () => {
    const { follow, add, pass, shown, waiting, reads } = world();
    for (let n = 0; n < 501; n++) add(`d${n}`);
    follow();
    await pass(0);
    expect(shown).toEqual(waiting.map(({ id }) => id));
    expect(reads).toEqual(["ann 500 after 0", "ann 500 after 500"]);
    await pass(2_000);
    expect(shown).toHaveLength(501);
  });

  it("is shown again what left the mailbox and came back, and nothing that stayed", async () => {
    const { follow, add, pass, shown, waiting } = world();
    add("d1");
    add("d2");
    follow();
    await pass(0);
    const [first] = waiting.splice(0, 1);
    await pass(2_000);
    waiting.push({ ...(first as Delivery), n: 9 });
    await pass(2_000);
    expect(shown).toEqual(["d1", "d2", "d1"]);
  });

  it("is told by a hint for its own mailbox at once, and by one for another not", async () => {
    const { follow, add, pass, shown, mailboxes, reads } = world();
    follow();
    await pass(0);
    add("d1");
    mailboxes.arrived(bob);
    await pass(0);
    expect([shown, reads.length]).toEqual([[], 1]);
    mailboxes.arrived(ann);
    await pass(0);
    expect(shown).toEqual(["d1"]);
    // The hint began a new wait.
    await pass(1_999);
    expect(reads).toHaveLength(2);
  });

  it("reads one time at once: hints during a read are served by one more", async () => {
    const { follow, add, pass, shown, mailboxes, reads, state, clock } = world();
    const held = Promise.withResolvers<void>();
    state.held = held.promise;
    follow();
    await pass(0);
    add("d1");
    mailboxes.arrived(ann);
    mailboxes.arrived(ann);
    expect(reads).toHaveLength(1);
    state.held = undefined;
    held.resolve();
    await pass(0);
    expect([shown, reads.length, clock.timers]).toEqual([["d1"], 2, 1]);
  });

  it("that stops during a read is shown nothing more, and sets no timer", async () => {
    const { follow, add, pass, shown, mailboxes, state, clock, reads } = world();
    const held = Promise.withResolvers<void>();
    state.held = held.promise;
    add("d1");
    const stop = follow();
    await pass(0);
    stop();
    held.resolve();
    await pass(0);
    mailboxes.arrived(ann);
    await pass(60_000);
    expect([shown, clock.timers, reads.length]).toEqual([[], 0, 1]);
  });

  it("whose read fails says so, and tries again with the next poll", async () => {
    const { follow, add, pass, shown, lines, state } = world();
    add("d1");
    state.fails = true;
    follow();
    await pass(0);
    state.fails = false;
    expect(lines).toMatchObject([{ level: "warn", message: "a mailbox could not be read now" }]);
    await pass(2_000);
    expect(shown).toEqual(["d1"]);
  });

  it("of several addresses is shown all in the store's order", async () => {
    const { follow, add, pass, shown } = world();
    add("d1", { target: bob });
    add("d2");
    add("d3", { target: bob });
    follow([ann, bob]);
    await pass(0);
    expect(shown).toEqual(["d1", "d2", "d3"]);
  });
});

describe("an acknowledgement", () => {
  const idsOf = (count: number): DeliveryId[] => Array.from({ length: count }, (_, n) => `d${n}` as DeliveryId);

  it("is of a thousand deliveries at most, each counted once", async () => {
    const { mailboxes, commits, add } = world();
    add("d1");
    await expect(mailboxes.acknowledge([ann], idsOf(1_001))).rejects.toMatchObject({ code: "invalid_input" });
    expect(commits).toEqual([]);
    expect(await mailboxes.acknowledge([ann], [...idsOf(1_000), ...idsOf(1_000)])).toEqual(["d1"]);
    expect(commits).toMatchObject([{ site: "mailbox.read", ops: [{ id: "d1", from: "waiting-reader", to: "sent" }] }]);
  });

  it.each([
    ["sent", ["d1"]],
    ["failed", []],
  ])("that comes after another reader, who left it %s, returns %j", async (became, expected) => {
    const { mailboxes, add, waiting, state, commits } = world();
    add("d1");
    state.answer = () => {
      waiting[0] = { ...(waiting[0] as Delivery), state: became as never };
      return false;
    };
    expect(await mailboxes.acknowledge([ann], ["d1" as DeliveryId])).toEqual(expected);
    expect(commits).toHaveLength(1);
  });

  const told: Op = { op: "message.post", to: { agentId: "a" }, message: {} } as never;
  const slotted = { payload: { text: "x", slot: { jobId: "j", slot: "s" } } };
  it("of a trigger's delivery tells the trigger in the same commit, and wakes who is told", async () => {
    const { mailboxes, add, commits, posted } = world({ opsOnDelivered: async () => [told] });
    add("d1", slotted);
    add("d2");
    await mailboxes.acknowledge([ann], idsOf(3));
    expect(commits.map(({ ops }) => ops.length)).toEqual([1, 2]);
    expect(commits[1]?.ops[1]).toMatchObject({ op: "message.post", claimFor: 4 });
    expect(posted).toEqual([[{ op: "message.post" }]]);
  });

  it("does not depend on what the trigger is told", async () => {
    const { mailboxes, add, commits, posted, state } = world({ opsOnDelivered: async () => [told] });
    add("d1", slotted);
    state.answer = ({ ops }) => ops.length === 1;
    expect(await mailboxes.acknowledge([ann], ["d1" as DeliveryId])).toEqual(["d1"]);
    expect([commits.map(({ ops }) => ops.length), posted]).toEqual([[2, 1], []]);
  });
});

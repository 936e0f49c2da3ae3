/** What one receipt changes: a table of states, attempts and answers of the store. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import type { DeliveryReceipt } from "../../core/ports/connector.ts";
import type { Change, CommitResult } from "../../core/store/change.ts";
import { notDeliveredOp, takeReceipt } from "./take-receipt.ts";

const base = {
  ...{ id: "d1", n: 1, agentId: "a", target: { channel: "test", to: "ann" }, payload: { text: " hi " } },
  ...{ state: "sent", attempts: 1, createdAt: 0, nextAt: 0 },
} as unknown as Delivery;
const OK: CommitResult = { ok: true, results: [{ op: "message.post", agentId: "a" }] } as never;
const refusal = (refused: string): CommitResult => ({ ok: false, refused, detail: "" }) as never;

async function take(
  delivery: Partial<Delivery>,
  receipt: Partial<DeliveryReceipt>,
  answers: readonly CommitResult[] = [],
) {
  const commits: Change[] = [];
  const told: unknown[] = [];
  const store = {
    delivery: async () => ({ ...base, ...delivery }),
    commit: async (change: Change) => {
      commits.push(change);
      return answers[commits.length - 1] ?? OK;
    },
    outcome: async () => undefined,
  };
  const ports = { store, ids: seededIds("receipt"), clock: virtualClock() } as never;
  const deps = {
    ...{ ports, channel: "test", claimFor: 7 },
    posted: (posted: unknown) => told.push({ posted }),
    moved: ({ state }: Delivery) => told.push({ moved: state }),
  };
  const ended = await takeReceipt(deps, { deliveryId: "d1", status: "arrived", ...receipt } as DeliveryReceipt).then(
    () => "taken",
    (error: Error) => error.message,
  );
  const ops = commits.map((change) => change.ops);
  return { ended, ops, told, moved: ops[0]?.[0] };
}

describe("a receipt", () => {
  test.each([
    ["sending", "arrived", { to: "sent" }],
    ["unconfirmed", "arrived", { to: "sent" }],
    ["sent", "arrived", undefined],
    ["sending", "failed", { to: "failed" }],
    ["unconfirmed", "failed", { to: "failed" }],
    ["sent", "failed", { to: "failed" }],
    ["failed", "failed", undefined],
    ["pending", "failed", undefined],
    ["pending", "arrived", undefined],
    ["sent", "again", { to: "pending", toTail: true }],
    ["unconfirmed", "again", { to: "pending", toTail: true }],
    ["failed", "again", undefined],
  ] as const)("of one that is %s, and says %s, moves it: %j", async (state, status, expected) => {
    const { ops, moved } = await take({ state }, { status, reason: "why" });
    if (!expected) expect(ops).toEqual([]);
    else expect(moved).toMatchObject({ op: "delivery.move", id: "d1", from: state, attempts: 1, ...expected });
  });

  test.each([
    [4, "pending"],
    [5, "failed"],
  ])("that asks for another way after %d attempts: %s", async (attempts, to) => {
    expect((await take({ attempts }, { status: "again", reason: "why" })).moved).toMatchObject({ to, reason: "why" });
  });

  test.each([
    [1, 0],
    [2, 1],
    [3, 0],
    [undefined, 1],
  ])("about attempt %s of one that was sent twice is %d commits", async (attempt, commits) => {
    expect((await take({ attempts: 2 }, { status: "failed", attempt })).ops).toHaveLength(commits);
  });

  it("of another channel changes nothing", async () => {
    expect((await take({ target: { channel: "other", to: "ann" } }, { status: "failed" })).ops).toEqual([]);
  });

  it("of a failure tells the agent in the same commit, and wakes it before the move is reported", async () => {
    const { ops, told } = await take({}, { status: "failed", reason: "blocked" });
    expect(ops).toEqual([
      [
        expect.objectContaining({ op: "delivery.move", to: "failed" }),
        expect.objectContaining({ op: "message.post", to: { agentId: "a" }, claimFor: 7 }),
      ],
    ]);
    expect(told).toEqual([{ posted: [{ op: "message.post", agentId: "a" }] }, { moved: "failed" }]);
    const arrived = await take({ state: "unconfirmed" }, {});
    expect(arrived.ops).toEqual([[expect.objectContaining({ to: "sent" })]]);
  });

  it("of a failure whose agent is gone moves the delivery alone", async () => {
    const { ops, told, ended } = await take({}, { status: "failed" }, [refusal("missing")]);
    expect(ops.map((one) => one.length)).toEqual([2, 1]);
    expect([ended, told.at(-1)]).toEqual(["taken", { moved: "failed" }]);
  });

  it("whose delivery was moved by someone else is read again with it, ten times at most", async () => {
    const once = await take({}, { status: "failed" }, [refusal("conflict")]);
    expect(once.ops.map((one) => one.length)).toEqual([2, 2]);
    expect(once.ended).toBe("taken");
    const always = await take({}, { status: "again" }, Array(99).fill(refusal("conflict")));
    expect(always.ops).toHaveLength(10);
    expect([always.ended, always.told]).toEqual(["Delivery d1 changes all the time.", []]);
    const gone = await take({}, { status: "again" }, Array(99).fill(refusal("missing")));
    expect([gone.ops.length, gone.ended]).toEqual([10, "Delivery d1 changes all the time."]);
  });
});

describe("what an agent reads about a text that did not arrive", () => {
  const text = (more: object): string => {
    const op = notDeliveredOp({ ...base, ...more } as Delivery, "blocked", 5);
    return op.op === "message.post" && op.message.body.kind === "system" ? op.message.body.text : "";
  };

  test.each([
    [{}, 'This did not reach test:ann: "hi"\nReason: blocked'],
    [{ target: { channel: "test" } }, 'This did not reach test: "hi"\nReason: blocked'],
    [{ payload: { files: [{ name: "a" }, { name: "b" }] } }, 'This did not reach test:ann: "a, b"\nReason: blocked'],
    [{ payload: {} }, 'This did not reach test:ann: ""\nReason: blocked'],
  ])("for %j: %s", (more, expected) => {
    expect(text(more)).toBe(expected);
  });

  it("quotes two hundred characters at most", () => {
    expect(text({ payload: { text: "x".repeat(200) } })).toContain(`"${"x".repeat(200)}"`);
    expect(text({ payload: { text: "x".repeat(201) } })).toBe(text({ payload: { text: "x".repeat(200) } }));
  });

  it("starts no run, and belongs to the person it was for", () => {
    const op = notDeliveredOp({ ...base, payload: { text: "", person: "p1" } } as never, "blocked", 5);
    const message = { body: { kind: "system", silent: true }, behalf: { person: "p1" }, acceptedAt: 5 };
    expect(op).toMatchObject({ op: "message.post", to: { agentId: "a" }, message });
    const without = notDeliveredOp(base, "blocked", 5);
    expect(without.op === "message.post" && without.message.behalf).toBeUndefined();
  });
});

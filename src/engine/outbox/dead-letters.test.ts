/** What a person does with a delivery: what becomes of it, who did it, and when it is refused. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import type { Delivery, DeliveryState } from "../../core/delivery/delivery.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { Change } from "../../core/store/change.ts";
import { type ByPerson, dropDelivery, editDelivery, listDeliveries, retryDelivery } from "./dead-letters.ts";

const ID = "r.0" as DeliveryId;
const BY: ByPerson = { by: { person: "ann", surface: "cli" } as never };

function world(state: DeliveryState, more: Partial<Delivery> = {}, isRefused = false) {
  const delivery = { id: ID, agentId: "a", state, attempts: 3, payload: { text: "hi", replyToId: "5" }, ...more };
  const changes: Change[] = [];
  const store = {
    delivery: async (id: string) => (id === ID ? delivery : undefined),
    deliveries: async (filter: object) => [filter],
    commit: async (change: Change) => {
      changes.push(change);
      return isRefused ? { ok: false, refused: "conflict", detail: "it was sent" } : { ok: true, results: [] };
    },
    outcome: async () => undefined,
  };
  const ports = { store, clock: virtualClock(), ids: seededIds("dead") } as never;
  const moves = () => changes.flatMap(({ ops }) => ops as readonly object[]);
  return { ports, moves, changes };
}

const ACTIONS = {
  retry: (ports: never, by?: ByPerson) => retryDelivery(ports, ID, by),
  edit: (ports: never, by?: ByPerson) => editDelivery(ports, ID, "new", by),
  drop: (ports: never, by?: ByPerson) => dropDelivery(ports, ID, by),
} as const;
type Action = keyof typeof ACTIONS;
const ENDED = { endedAt: 5 };

describe("a person", () => {
  test.each<readonly [Action, DeliveryState, Partial<Delivery>, object]>([
    ["retry", "failed", ENDED, { to: "pending", toTail: true, reason: "retried by ann" }],
    ["retry", "unconfirmed", ENDED, { to: "pending", toTail: true, reason: "retried by ann" }],
    ["retry", "unroutable", {}, { to: "pending", toTail: true, reason: "retried by ann" }],
    [
      "edit",
      "failed",
      ENDED,
      { to: "pending", toTail: true, reason: "edited by ann", payload: { text: "new", replyToId: "5" } },
    ],
    ["drop", "pending", {}, { to: "failed", reason: "dropped by ann" }],
    ["drop", "unroutable", {}, { to: "failed", reason: "dropped by ann" }],
    ["drop", "waiting-reader", {}, { to: "failed", reason: "dropped by ann" }],
  ])("can %s one that is %s, in one commit with the audit", async (action, state, more, move) => {
    const { ports, moves, changes } = world(state, more);
    const moved = await ACTIONS[action](ports, { ...BY, also: ({ state: now }) => [{ op: "also", now } as never] });
    expect(changes.map(({ site }) => site)).toEqual([`outbox.${action}`]);
    expect(moves()).toMatchObject([
      { op: "delivery.move", id: ID, from: state, ...move },
      { op: expect.stringContaining("audit") },
      { op: "also", now: moved.state },
    ]);
    expect(moved.state).toBe((move as { to: string }).to);
    expect(moved.payload.text).toBe(action === "edit" ? "new" : "hi");
  });

  test.each<readonly [Action, DeliveryState, Partial<Delivery>, string]>([
    ["retry", "waiting-reader", {}, "waits in a mailbox"],
    ["retry", "pending", {}, "is pending. You can send it again after it has ended."],
    ["edit", "sending", {}, "is sending. You can send it again after it has ended."],
    ["edit", "waiting-reader", {}, "waits in a mailbox"],
    ["drop", "sending", {}, "is sending and cannot be dropped."],
    ["drop", "sent", ENDED, "is sent and cannot be dropped."],
    ["drop", "failed", ENDED, "is failed and cannot be dropped."],
  ])("cannot %s one that is %s", async (action, state, more, message) => {
    const { ports, changes } = world(state, more);
    await expect(ACTIONS[action](ports, BY)).rejects.toThrow(message);
    expect(changes).toEqual([]);
  });

  test.each<Action>(["retry", "edit", "drop"])("who is unknown can %s one, and leaves no audit", async (action) => {
    const { ports, moves } = world(action === "drop" ? "pending" : "failed");
    await ACTIONS[action](ports);
    const verb = { retry: "retried", edit: "edited", drop: "dropped" }[action];
    expect(moves()).toMatchObject([{ op: "delivery.move", reason: `${verb} by a person` }]);
  });

  test.each<Action>(["retry", "edit", "drop"])(
    "cannot %s one that has changed since, or that is unknown",
    async (action) => {
      const { ports } = world(action === "drop" ? "pending" : "failed", {}, true);
      await expect(ACTIONS[action](ports)).rejects.toThrow("has changed in the meantime: it was sent");
      const other = { retry: retryDelivery, drop: dropDelivery }[action as "retry" | "drop"] ?? retryDelivery;
      await expect(other(ports, "x.0" as DeliveryId)).rejects.toThrow("Delivery x.0 does not exist.");
    },
  );
});

test("a list has at most a hundred, unless it is asked for more or fewer", async () => {
  const { ports } = world("failed");
  expect(await listDeliveries(ports)).toEqual([{ limit: 100 }]);
  expect(await listDeliveries(ports, { limit: 3, states: ["failed"] })).toEqual([{ limit: 3, states: ["failed"] }]);
});

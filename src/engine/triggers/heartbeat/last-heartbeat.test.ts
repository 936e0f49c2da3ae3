/** What the last heartbeat said, as its deliveries tell it, and which of them a newer one replaces. */
import { describe, expect, test } from "vitest";
import { lastHeartbeatOf, sameWords, supersedeOps } from "./last-heartbeat.ts";

interface Part {
  readonly text?: string;
  readonly state?: string;
}
const storeWith = (parts: readonly Part[], from = 0) => {
  const rows = new Map(
    parts.map(({ text, state = "sent" }, index) => {
      const id = `r.1.${from + index}`;
      return [id, { id, state, attempts: index, payload: { text }, createdAt: 10 + index }];
    }),
  );
  return { delivery: async (id: string) => rows.get(id) } as never;
};
const last = (parts: readonly Part[], state: object) => lastHeartbeatOf(storeWith(parts), state as never);
const from = (ordinal: number) => ({ lastHeartbeatDeliveryId: `r.1.${ordinal}` });

describe("the last heartbeat", () => {
  test("has the words of all its parts, and the time of the first", async () => {
    expect(await last([{ text: "the disk" }, {}, { text: "is full" }], from(0))).toEqual({
      lastHeartbeatText: "the disk\n\nis full",
      lastHeartbeatSentAt: 10,
      failed: false,
    });
    // What the run sent before its answer is not part of it.
    expect(await last([{ text: "reasons" }, { text: "full" }], from(1))).toMatchObject({
      lastHeartbeatText: "full",
      lastHeartbeatSentAt: 11,
    });
  });

  test("has failed if one of its parts has", async () => {
    expect((await last([{ state: "sent" }, { state: "failed" }], from(0)))?.failed).toBe(true);
    expect((await last([{ state: "unroutable" }, { state: "sent" }], from(0)))?.failed).toBe(false);
  });

  test("is unknown if its deliveries are gone", async () => {
    expect(await last([], from(0))).toBeUndefined();
  });

  test("of an older program is in the state, if both fields are", async () => {
    const old = { lastHeartbeatText: "full", lastHeartbeatSentAt: 5 };
    expect(await last([], old)).toEqual({ ...old, failed: false });
    expect(await last([], { lastHeartbeatText: "full" })).toBeUndefined();
    expect(await last([], { lastHeartbeatSentAt: 5 })).toBeUndefined();
    expect(await last([], {})).toBeUndefined();
  });

  test("is read up to a hundred parts", async () => {
    const many = Array.from({ length: 150 }, (_none, n) => ({ text: String(n) }));
    expect((await last(many, from(0)))?.lastHeartbeatText.split("\n").length).toBe(100);
  });
});

describe("a newer heartbeat", () => {
  test("replaces all of the last run's deliveries that have no route, and no other", async () => {
    const parts = [{ state: "unroutable" }, { state: "sent" }, { state: "unroutable" }, { state: "pending" }];
    expect(await supersedeOps(storeWith(parts), from(2) as never)).toEqual(
      [0, 2].map((n) => ({
        op: "delivery.move",
        id: `r.1.${n}`,
        from: "unroutable",
        attempts: n,
        to: "suppressed",
        reason: "a newer heartbeat replaces it",
      })),
    );
  });

  test("replaces nothing if there was none", async () => {
    expect(await supersedeOps(storeWith([{ state: "unroutable" }]), {} as never)).toEqual([]);
  });
});

test("words are the same however they are split", () => {
  expect([sameWords(" a\nb  c", "ab c"), sameWords("ab", "ac"), sameWords("a", "A")]).toEqual([true, false, false]);
});

import { describe, expect, test } from "vitest";
import type { RunId } from "../ids.ts";
import { contentOf, deliveryContextSchema, deliveryId, deliveryStateSchema, payloadSchema } from "./delivery.ts";
import { targetKey, targetKeysOf } from "./target-key.ts";

test("a channel gets neither the slot nor the person of a payload", () => {
  const payload = payloadSchema.parse({ text: "hi", asReply: true, slot: { jobId: "j", slot: "s" }, person: "owner" });
  expect(contentOf(payload)).toEqual({ text: "hi", asReply: true });
});

describe("an address as a key", () => {
  test("is the same for the same address in any order, and another one with every field", () => {
    const key = targetKey({ channel: "c", to: "t" });
    expect(targetKey({ to: "t", channel: "c" })).toBe(key);
    const others = [{ accountId: "a" }, { threadId: 1 }, { to: "u" }, { channel: "d" }];
    expect(new Set(others.map((more) => targetKey({ channel: "c", to: "t", ...more }))).size).toBe(4);
    expect(targetKey({ channel: "c", threadId: "1" })).not.toBe(targetKey({ channel: "c", threadId: 1 }));
  });

  test("lies in the range of its channel, and those of other channels do not", () => {
    const [from, before] = targetKeysOf("tele");
    const inside = (key: string): boolean => key >= from && key < before;
    expect(inside(targetKey({ channel: "tele", to: "1" }))).toBe(true);
    expect(inside(targetKey({ channel: "tele", accountId: "z", to: "1" }))).toBe(true);
    for (const channel of ["telegram", "tel", "telf", 'tele","'])
      expect(inside(targetKey({ channel, to: "1" }))).toBe(false);
  });
});

test("an id names the run and the number within it", () => {
  expect(deliveryId("r1" as RunId, 2)).toBe("r1.2");
});

const button = (of: object = {}) => ({ label: "Yes", token: "t", ...of });

test.each([
  ["a button", { buttons: [button()] }, true],
  ["a style that does not exist", { buttons: [button({ style: "maybe" })] }, false],
  ["eight buttons", { buttons: Array.from({ length: 8 }, () => button()) }, true],
  ["nine buttons", { buttons: Array.from({ length: 9 }, () => button()) }, false],
  ["a label of 64 characters", { buttons: [button({ label: "x".repeat(64) })] }, true],
  ["a label of 65 characters", { buttons: [button({ label: "x".repeat(65) })] }, false],
  ["no label", { buttons: [button({ label: "" })] }, false],
  ["a token of 64 characters", { buttons: [button({ token: "x".repeat(64) })] }, true],
  ["a token of 65 characters", { buttons: [button({ token: "x".repeat(65) })] }, false],
  ["no token", { buttons: [button({ token: "" })] }, false],
  ["an edit of a message", { action: { do: "edit", messageId: "5" } }, true],
  ["an edit of no message", { action: { do: "edit", messageId: "" } }, false],
  ["a reply that is false", { asReply: false }, false],
])("a payload with %s is accepted: %s", (_title, payload, ok) => {
  expect(payloadSchema.safeParse(payload).success).toBe(ok);
});

test.each([
  [
    { channel: " telegram ", to: " 7 " },
    { channel: "telegram", to: "7" },
  ],
  [
    { accountId: " a ", threadId: " t " },
    { accountId: "a", threadId: "t" },
  ],
  [{ threadId: 3 }, { threadId: 3 }],
  [{ threadId: 1.5 }, undefined],
  [{ threadId: " " }, undefined],
  [{ to: "" }, undefined],
  [{ channel: " " }, undefined],
  [{ accountId: "" }, undefined],
])("the address %j is read as %j", (address, read) => {
  expect(deliveryContextSchema.safeParse(address).data).toEqual(read);
});

test("a delivery is in one of eight states", () => {
  expect(deliveryStateSchema.options).toEqual([
    ...["pending", "sending", "waiting-reader", "unroutable"],
    ...["sent", "suppressed", "failed", "unconfirmed"],
  ]);
});

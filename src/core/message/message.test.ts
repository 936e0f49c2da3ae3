import fc from "fast-check";
import { expect, test } from "vitest";
import { dedupeKey, type Source } from "./message.ts";

test("the same message of a channel has the same key, and an edit has another key", () => {
  const source = { connector: "telegram", messageId: "7" };
  expect(dedupeKey({ source })).toBe('["telegram","","","7",0]');
  expect(dedupeKey({ source: { ...source, revision: 2 } })).toBe('["telegram","","","7",2]');
});

test("a message without an id or a key is always new", () => {
  expect(dedupeKey({ source: { connector: "telegram", channelId: "7" } })).toBeUndefined();
  expect(dedupeKey({})).toBeUndefined();
});

test("a caller's key takes precedence over the channel's id", () => {
  expect(dedupeKey({ key: "mine", source: { connector: "telegram", messageId: "7" } })).toBe("mine");
});

test("separators inside ids never give two messages the same key", () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', ",", "[", "]", "\\", "|") });
  const source = fc.record({ connector: text, accountId: text, channelId: text, messageId: text });
  fc.assert(
    fc.property(source, source, (a: Source, b: Source) => {
      const same = JSON.stringify(Object.entries(a)) === JSON.stringify(Object.entries(b));
      expect(dedupeKey({ source: a }) === dedupeKey({ source: b })).toBe(same);
    }),
  );
});

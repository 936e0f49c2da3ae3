import { describe, expect, test } from "vitest";
import { agentIdSchema, sessionIdSchema, sessionKeySchema } from "./id-schemas.ts";
import { type AgentId, type EntryId, entryId, isAgentId, messageId, parseMessageId, positionOf } from "./ids.ts";

const agent = "a".repeat(24) as AgentId;
const uuid = "01234567-89ab-7def-8123-456789abcdef";

describe("the id of a message", () => {
  test("is its agent and its place in the inbox, and back", () => {
    expect(messageId(agent, 12)).toBe(`${agent}/12`);
    expect(parseMessageId(messageId(agent, 12))).toEqual({ agentId: agent, seq: 12 });
    expect(parseMessageId(`${agent}/${"9".repeat(16)}`)).toBeDefined();
  });

  test.each([`${agent}/0`, `${agent}/01`, `${agent}/`, agent, `${agent}/1/2`, `x/1`, `${agent}/${"9".repeat(17)}`, ""])(
    "is not %j",
    (text) => {
      expect(parseMessageId(text)).toBeUndefined();
    },
  );
});

test.each([
  ["a".repeat(23), false],
  ["a".repeat(24), true],
  ["a".repeat(32), true],
  ["a".repeat(33), false],
  ["A".repeat(24), false],
])("%s is the id of an agent: %s", (text, is) => {
  expect(isAgentId(text)).toBe(is);
});

describe("the id of an entry", () => {
  test.each([0, 1, 255, 4_096, 0xff_ff_ff_ff])("holds its position %d", (position) => {
    const id = entryId(position, uuid);
    expect(id).toMatch(/^[0-9a-f]{8}-89ab-8def-8123-456789abcdef$/);
    expect(positionOf(id)).toBe(position);
  });

  test("of another program has no position", () => {
    expect(positionOf(uuid as EntryId)).toBeUndefined();
    expect(positionOf("e1" as EntryId)).toBeUndefined();
    expect(positionOf(`${entryId(1, uuid)}0` as EntryId)).toBeUndefined();
  });
});

test.each<[string, { safeParse(value: unknown): { success: boolean; data?: unknown } }, unknown, boolean]>([
  ["a key", sessionKeySchema, "agent:main:main", true],
  ["a key of one letter", sessionKeySchema, "k", true],
  ["no key", sessionKeySchema, "", false],
  ["an agent", agentIdSchema, "a23456789012345678901234", true],
  ["no agent", agentIdSchema, "../x", false],
  ["a session", sessionIdSchema, "0198b6a0-0000-7000-8000-000000000001", true],
  ["no session", sessionIdSchema, "0198b6a0", false],
])("%s is read as it is: %#", (_, schema, value, ok) => {
  const read = schema.safeParse(value);
  expect([read.success, read.data]).toEqual([ok, ok ? value : undefined]);
});

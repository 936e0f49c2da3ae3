import { expect, test } from "vitest";
import type { AgentId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import { auditOp } from "./audit-entry.ts";

const BY = { person: "owner" as PersonId, surface: "chat", token: "t1" } as const;
const entryOf = (audited: Parameters<typeof auditOp>[2]): Record<string, unknown> => {
  const op = auditOp(BY, 5, audited);
  return op.op === "audit.add" ? { ...op.entry } : {};
};

test("an entry says who did what to what, and what was decided", () => {
  const audited = { action: "person.link", target: "ann", reason: "asked", agentId: "a" as AgentId, decision: "deny" };
  expect(entryOf(audited as never)).toMatchObject({ at: 5, ...BY, ...audited });
  expect(entryOf({ action: "person.link" })).toMatchObject({ decision: "allow" });
  expect(entryOf({ action: "x" }).target).toBeUndefined();
});

test("arguments are kept as a digest only, and none without arguments", () => {
  const digest = (secret: number) => entryOf({ action: "x", args: { secret } }).digest;
  expect(digest(1)).toMatch(/^[0-9a-f]{64}$/);
  expect(digest(1)).toBe(digest(1));
  expect(digest(1)).not.toBe(digest(2));
  expect(entryOf({ action: "x" }).digest).toBeUndefined();
});

test("a field is at most 512 characters", () => {
  expect(entryOf({ action: "x".repeat(512), target: "y".repeat(513) })).toMatchObject({
    action: "x".repeat(512),
    target: "y".repeat(512),
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import type { PersonId } from "../people/person.ts";
import { approvalIdOf, approvalSchema, GRANT_MS, isOnTheWay, parseApprovalId } from "./approval.ts";

describe("the id of an approval", () => {
  test.each([
    ["abcd", "abcd"],
    [" AbCd\n", "abcd"],
    ["abc", undefined],
    ["abcde", undefined],
    // Letters that look like digits or like each other are not among them.
    ["abil", undefined],
    ["oabc", undefined],
    ["ab1d", undefined],
    [`abcd${" ".repeat(60)}`, "abcd"],
    [`abcd${" ".repeat(61)}`, undefined],
  ])("%j is read as %j", (text, id) => {
    expect(parseApprovalId(text)).toBe(id);
  });

  test("of any uuid is one that people can type, and all letters occur", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        const id = approvalIdOf(uuid);
        expect(parseApprovalId(id)).toBe(id);
        for (const letter of id) seen.add(letter);
      }),
      { numRuns: tries(400) },
    );
    expect([...seen].toSorted().join("")).toBe("abcdefghjkmnpqrstuvwxyz");
  });

  test("comes from the random end of the uuid, the lowest digit first", () => {
    expect(approvalIdOf("01234567-89ab-7def-8123-000000000000")).toBe("aaaa");
    expect(approvalIdOf("ffffffff-ffff-7fff-8fff-000000000001")).toBe("baaa");
    expect(approvalIdOf("00000000-0000-7000-8000-000000000017")).toBe("abaa");
    expect(approvalIdOf("00000000-0000-7000-8000-100000000000")).not.toBe("aaaa");
  });
});

test("a yes is good for a day", () => {
  expect(GRANT_MS).toBe(24 * 60 * 60 * 1000);
});

test("everyone on the way of a call may say no, and no one else", () => {
  const [ann, bob, eve] = ["ann", "bob", "eve"] as PersonId[] as [PersonId, PersonId, PersonId];
  expect(isOnTheWay({ person: ann, through: [bob] }, ann)).toBe(true);
  expect(isOnTheWay({ person: ann, through: [bob] }, bob)).toBe(true);
  expect(isOnTheWay({ person: ann, through: [bob] }, eve)).toBe(false);
  expect(isOnTheWay({ person: ann }, bob)).toBe(false);
});

test.each<[string, object, boolean]>([
  ["whole", {}, true],
  ["without a run", { runId: "" }, false],
  ["without a digest", { digest: "" }, false],
  ["with another id", { id: "abcde" }, false],
])("a question that is %s", (_title, more, ok) => {
  const question = {
    ...{ id: "abcd", agentId: "a".repeat(24), runId: "r", callId: "c", behalf: { person: "ann" }, tool: "exec" },
    ...{ arguments: {}, digest: "d", prompt: "May it?", askedAt: 1, dueAt: 2, state: "pending" },
  };
  expect(approvalSchema.safeParse({ ...question, ...more }).success).toBe(ok);
});

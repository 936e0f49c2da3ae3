/** What the store accepts about people: limits and forms at their boundaries. */
import { describe, expect, test } from "vitest";
import { behalfSchema, joined } from "./behalf.ts";
import type { PersonId } from "./person.ts";
import { personIdSchema, personLimitsSchema, personRecordSchema } from "./person-record.ts";

const record = { id: "ann", role: "guest", createdAt: 1, createdBy: "owner" };
const limit = { of: "token", id: "t" };
const times = <Item>(length: number, item: (n: number) => Item): Item[] => Array.from({ length }, (_, n) => item(n));

describe("a record", () => {
  test.each<[string, object, boolean]>([
    ["with what it needs", {}, true],
    ["with a name of one letter", { name: "A" }, true],
    ["with an empty name", { name: " " }, false],
    ["with a name of 200", { name: "n".repeat(200) }, true],
    ["with a longer name", { name: "n".repeat(201) }, false],
    ["with 32 accounts", { accounts: times(32, (n) => `test:${n}`) }, true],
    ["with 33 accounts", { accounts: times(33, (n) => `test:${n}`) }, false],
    ["with an account without an id", { accounts: ["test:"] }, false],
    ["with an account without a channel", { accounts: [":7"] }, false],
    ["with an account of 512", { accounts: [`t:${"x".repeat(510)}`] }, true],
    ["with a longer account", { accounts: [`t:${"x".repeat(511)}`] }, false],
    ["with a zone of 64", { timeZone: "z".repeat(64) }, true],
    ["with a longer zone", { timeZone: "z".repeat(65) }, false],
    ["with a language of 35", { language: "l".repeat(35) }, true],
    ["with a longer language", { language: "l".repeat(36) }, false],
    ["made by someone of 512", { createdBy: "b".repeat(512) }, true],
    ["made by someone longer", { createdBy: "b".repeat(513) }, false],
    ["with an id of 64", { id: "a".repeat(64) }, true],
    ["with a longer id", { id: "a".repeat(65) }, false],
    ["with capital letters", { id: "Ann" }, false],
    ["of the owner", { id: "owner", role: "owner" }, true],
    ["of the owner with accounts", { id: "owner", role: "owner", accounts: ["test:7"] }, false],
    ["of the owner as a guest", { id: "owner" }, false],
    ["of another as the owner", { role: "owner" }, false],
    ["with a field that is none", { age: 5 }, false],
  ])("%s", (_title, more, ok) => {
    expect(personRecordSchema.safeParse({ ...record, ...more }).success).toBe(ok);
  });

  test("has no accounts and no grants unless it says so, and accounts in one form", () => {
    expect(personRecordSchema.parse(record)).toMatchObject({ accounts: [], grants: [] });
    expect(personRecordSchema.parse({ ...record, accounts: [" test:7 "] }).accounts).toEqual(["test:7"]);
    expect(personRecordSchema.parse({ ...record, accounts: ["test:a\u0301"] }).accounts).toEqual(["test:á"]);
  });

  test.each<[object, boolean]>([
    [{ messagesPerDay: 0, tokensPerDay: 0, dollarsPerDay: 0 }, true],
    [{ messagesPerDay: -1 }, false],
    [{ messagesPerDay: 0.5 }, false],
    [{ tokensPerDay: -1 }, false],
    [{ dollarsPerDay: -0.1 }, false],
    [{ dollarsPerDay: 0.5 }, true],
    [{ quietHours: "22:00-07:00" }, true],
    [{ quietHours: "22-7" }, false],
  ])("may have the limits %j: %s", (limits, ok) => {
    expect(personLimitsSchema.safeParse(limits).success).toBe(ok);
  });
});

test.each<[string, boolean]>([
  ["a", true],
  ["", false],
  [`t:${"x".repeat(510)}`, true],
  [`t:${"x".repeat(511)}`, false],
  ["app:shop", false],
  ["t:", false],
])("%s is the id of a person: %s", (id, ok) => {
  expect(personIdSchema.safeParse(id).success).toBe(ok);
});

describe("a way", () => {
  test.each<[string, object, boolean]>([
    ["with a limit", { limits: [limit] }, true],
    ["with a limit of no one", { limits: [{ ...limit, id: "" }] }, false],
    ["with a limit of 512 letters", { limits: [{ ...limit, id: "i".repeat(512) }] }, true],
    ["with a limit of more", { limits: [{ ...limit, id: "i".repeat(513) }] }, false],
    ["with 64 limits", { limits: times(64, () => limit) }, true],
    ["with 65 limits", { limits: times(65, () => limit) }, false],
    ["with eight roots", { roots: times(8, (n) => `r${n}`) }, true],
    ["with nine roots", { roots: times(9, (n) => `r${n}`) }, false],
    ["with a root without a name", { roots: [""] }, false],
    ["with a mark that is false", { untrusted: false }, false],
  ])("%s", (_title, more, ok) => {
    expect(behalfSchema.safeParse({ person: "ann", ...more }).success).toBe(ok);
  });

  test("knows the eight newest runs that led to it, each once", () => {
    const way = (...roots: string[]) => ({ person: "ann" as PersonId, roots: roots as never[] });
    expect(joined("ann" as PersonId, [way()]).roots).toBeUndefined();
    expect(joined("ann" as PersonId, [way("r2", "r1"), way("r2")]).roots).toEqual(["r1", "r2"]);
    expect(joined("ann" as PersonId, [way(...times(9, (n) => `r${n}`))]).roots).toEqual(times(8, (n) => `r${n + 1}`));
  });
});

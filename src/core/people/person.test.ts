import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  accountOf,
  applicationOf,
  appUser,
  groupOf,
  isRecordId,
  kindOfPerson,
  OWNER,
  personIdSchema,
  personRecordSchema,
} from "./person.ts";

describe("a person's id", () => {
  test.each([
    ["owner", "owner"],
    ["ann", "record"],
    ["ann.b-2_x", "record"],
    ["app:shop/ann", "app"],
    ["app:shop/owner", "app"],
    ["telegram:group:-100", "group"],
    ["telegram:42", "account"],
    ["api:ann", "account"],
    ["api:dm:group:1", "account"],
    ["telegram:", undefined],
    [":42", undefined],
    ["", undefined],
    ["Ann", undefined],
    ["app:shop", undefined],
    ["app:/ann", undefined],
    ["app:shop/", undefined],
    ["a".repeat(65), undefined],
  ])("%j is %s", (id, kind) => {
    expect(kindOfPerson(id)).toBe(kind);
    expect(personIdSchema.safeParse(id).success).toBe(kind !== undefined);
  });

  it("of one form is never read as another, whatever applications and channels call their users", () => {
    const text = fc.oneof(
      fc.string({ minLength: 1, maxLength: 40 }),
      fc.constantFrom("group:1", "channel:1", "dm:1", "dm:group:1", "owner", "a/b", "%2F"),
    );
    const channel = fc.constantFrom("telegram", "api", "slack");
    fc.assert(
      fc.property(channel, text, text, text, text, (on, a, b, c, d) => {
        const made = [appUser(a, b), groupOf(on, "group", a), accountOf(on, a)];
        expect(made.map(kindOfPerson)).toEqual(["app", "group", "account"]);
        expect(applicationOf(appUser(a, b))).toBe(a);
        if (a !== c || b !== d) expect(appUser(a, b)).not.toBe(appUser(c, d));
        if (a !== c) expect(accountOf(on, a)).not.toBe(accountOf(on, c));
        expect(accountOf(on, a)).not.toBe(groupOf(on, "group", c));
        for (const id of made) expect(isRecordId(id) || id === OWNER).toBe(false);
      }),
    );
  });
});

describe("a person's record", () => {
  const ann = { id: "ann", role: "guest", createdAt: 1, createdBy: "owner" };

  it("has no accounts and no grants at first", () => {
    expect(personRecordSchema.parse(ann)).toMatchObject({ accounts: [], grants: [] });
  });

  test.each([
    ["the owner's id", { id: "owner" }],
    ["the owner's role", { role: "owner" }],
    ["an account without a channel", { accounts: ["42"] }],
    ["a grant without a verdict", { grants: [{ what: "exec" }] }],
    ["a grant with two verdicts", { grants: [{ allow: "exec", deny: "exec" }] }],
    ["an open parenthesis", { grants: [{ allow: "send(telegram:42" }] }],
    ["an unknown field", { admin: true }],
    ["more accounts than a person has", { accounts: Array.from({ length: 33 }, (_, n) => `x:${n}`) }],
  ])("refuses %s", (_, change) => {
    expect(personRecordSchema.safeParse({ ...ann, ...change }).success).toBe(false);
  });
});

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
  type PersonId,
} from "./person.ts";
import { personIdSchema, personRecordSchema } from "./person-record.ts";

describe("a person's id", () => {
  test.each([
    ["owner", "owner"],
    ["ann", "record"],
    ["ann.b-2_x", "record"],
    ["app:shop/ann", "app"],
    ["app:shop/owner", "app"],
    ["telegram:group:-100", "group"],
    ["telegram:channel:7", "group"],
    ["telegram:group:", "account"],
    ["telegram:channel:", "account"],
    ["telegram:42", "account"],
    ["t:4", "account"],
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

  test.each([
    ["ann", true],
    ["owner", false],
    ["Ann", false],
    ["telegram:42", false],
  ])("%s can be the id of a record: %s", (name, is) => {
    expect(isRecordId(name)).toBe(is);
  });

  it("is written in the form of its kind", () => {
    expect(accountOf("telegram", "42")).toBe("telegram:42");
    expect(accountOf("api", "group:1")).toBe("api:dm:group:1");
    expect(accountOf("api", "channel:1")).toBe("api:dm:channel:1");
    expect(accountOf("api", "dm:1")).toBe("api:dm:dm:1");
    expect(groupOf("telegram", "channel", "-1")).toBe("telegram:channel:-1");
    expect(appUser("a/b%", "c/d")).toBe("app:a%2Fb%25/c/d");
    expect(applicationOf("app:a%2Fb%25/c/d" as PersonId)).toBe("a/b%");
    expect(applicationOf("telegram:42/7" as PersonId)).toBeUndefined();
    expect(applicationOf(OWNER)).toBeUndefined();
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

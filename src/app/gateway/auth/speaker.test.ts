import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sessionKeyOf } from "../../../core/agent/session-key.ts";
import { apiUserOf, personOfApiUser } from "../../../core/people/api-user.ts";
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import type { Principal } from "./principal.ts";
import { behalfOf, speakerOf, unnamedSpeaker } from "./speaker.ts";

type Token = Pick<Principal, "kind" | "person" | "app" | "user">;
const shop: Token = { kind: "application", app: "shop" };
const bank: Token = { kind: "application", app: "bank" };
const ann: Token = { kind: "person", person: "ann" as PersonId };
const old: Token = { kind: "old" };
const owner: Token = { kind: "owner", person: OWNER };
const TOKENS = { shop, bank, ann, old, owner };

describe("the speaker of a request", () => {
  it.each([
    ["a user of an application", shop, "ann", "app:shop/ann"],
    ["a user of an application who is called like the owner", shop, "owner", "app:shop/owner"],
    ["a user of an application with another's prefix", shop, "app:bank/ann", "app:shop/app:bank/ann"],
    ["a user of an application with a step up", shop, "../bank/ann", "app:shop/../bank/ann"],
    ["a person", ann, undefined, "ann"],
    ["a person who is named", ann, "ann", "ann"],
    ["a user whom an old token names", old, "ann", "api:ann"],
    ["a user whom the owner names", owner, "owner", "api:owner"],
    ["a user who is called like a group", old, "group:1", "api:dm:group:1"],
  ])("is %s", (_, token, named, person) => {
    expect(speakerOf(token, named)?.person).toBe(person);
  });

  it.each([
    ["a person's token", "another person", ann, "bob"],
    ["a person's token", "the owner", ann, "owner"],
    ["a person's token", "the same with another case", ann, "Ann"],
    ["a person's token", "a look-alike", ann, "аnn"],
    ["a token of one old user", "another user", { kind: "old", user: "ann" } as Token, "bob"],
    ["an old token", "an application's user", old, "app:shop/ann"],
    ["an old token", "a person with a record", old, "person:ann"],
    ["the owner's token", "an application's user", owner, "app:shop/ann"],
    ["an application", "a name with half a character", shop, "ann\ud800"],
    ["an application", "a name with a control character", shop, "ann\u0000"],
  ])("cannot be with %s %s", (_, __, token, named) => {
    expect(() => speakerOf(token, named)).toThrow();
  });

  it.each([
    ["a token of one old user", { kind: "old", user: "ann" } as Token, "ann", "api:ann"],
    ["a token of one old user", { kind: "old", user: "ann" } as Token, undefined, "api:ann"],
    ["an old token", old, undefined, undefined],
    ["an application", shop, undefined, undefined],
    ["the owner's token", owner, undefined, undefined],
  ])("with %s that names %s is %s", (_, token, named, person) => {
    expect(speakerOf(token, named)?.person).toBe(person);
  });

  it.each([
    ["bob", ann, 403, "denied"],
    ["bob", { kind: "old", user: "ann" } as Token, 403, "denied"],
    ["person:ann", old, 400, "invalid_input"],
    ["ann\u0007", owner, 400, "invalid_input"],
    ["\udc00ann", ann, 400, "invalid_input"],
  ])("that cannot be %j is refused with the field", (named, token, status, code) => {
    expect(() => speakerOf(token, named)).toThrow(expect.objectContaining({ status, code, param: "user" }));
  });

  it("of a request that is no one's message is the token's person, or an account of the token", () => {
    expect(behalfOf({ id: "t1", person: "ann" as PersonId })).toEqual({ person: "ann" });
    expect(behalfOf({ id: "t1" })).toEqual({ person: "api:t1" });
  });

  it("is another person, another conversation and another mailbox for every pair of tokens and names", () => {
    const name = fc.string({
      minLength: 1,
      maxLength: 12,
      unit: fc.constantFrom("a", "/", ":", "%", "app", "person", "shop", "ﬁ", "é", " "),
    });
    const token = fc.constantFrom(...Object.values(TOKENS));
    const speak = (by: Token, named: string) => {
      try {
        return speakerOf(by, by.kind === "person" ? undefined : named.trim() || "x");
      } catch {
        return undefined;
      }
    };
    fc.assert(
      fc.property(token, name, token, name, (one, named, other, otherName) => {
        const [a, b] = [speak(one, named), speak(other, otherName)];
        if (!a || !b) return;
        // The owner's tokens and the old ones share their names.
        const space = ({ kind, app }: Token) => `${kind === "owner" ? "old" : kind}/${app}`;
        const same =
          space(one) === space(other) && (one.kind === "person" || (named.trim() || "x") === (otherName.trim() || "x"));
        const key = ({ user }: { user: string }) =>
          sessionKeyOf({ type: "user", connector: "api", userId: user, channelId: user }, "main");
        expect(a.person === b.person).toBe(same);
        expect(a.user === b.user).toBe(same);
        expect(key(a) === key(b)).toBe(same);
      }),
    );
  });

  it("without a name is the owner, or someone new", () => {
    expect(unnamedSpeaker(owner, "f").person).toBe(OWNER);
    expect(unnamedSpeaker(shop, "f").person).toBe("app:shop/f");
    expect(unnamedSpeaker(old, "f").person).toBe("api:f");
  });

  it("has one name on the API's channel for one person", () => {
    for (const user of ["ann", "person:ann", "app:shop/ann", "group:1", "dm:x", "person:", "app:x"]) {
      expect(apiUserOf(personOfApiUser(user)), user).toBe(user);
    }
    expect(apiUserOf("telegram:42" as PersonId)).toBeUndefined();
    expect(apiUserOf(OWNER)).toBeUndefined();
  });
});

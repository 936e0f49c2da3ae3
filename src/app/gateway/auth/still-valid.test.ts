import { expect, it } from "vitest";
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import type { Principal } from "./principal.ts";
import { isStillValid, type ValidityContext } from "./still-valid.ts";

interface World {
  readonly tokens?: boolean;
  readonly logins?: boolean;
  readonly role?: string;
  readonly fails?: boolean;
}

const contextOf = ({ tokens = false, logins = false, role, fails = false }: World): ValidityContext => {
  const now = async () => {
    if (fails) throw new TypeError("the store does not answer");
    return { record: (id: string) => (id === "ann" && role ? { role } : undefined) };
  };
  return {
    tokens: { stillValid: () => tokens },
    logins: { stillValid: () => logins },
    agents: { directory: { now } },
  } as unknown as ValidityContext;
};
const principal = (id: string, person?: string): Principal => ({
  ...{ id, name: "n", kind: "person", scopes: ["chat"] },
  person: person as PersonId | undefined,
});

it.each<[string, Principal, World, boolean]>([
  ["a valid token", principal("t1"), { tokens: true }, true],
  ["a token that was revoked", principal("t1"), { tokens: false, logins: true, role: "guest" }, false],
  ["a login of a guest", principal("login:1", "ann"), { logins: true, role: "guest" }, true],
  ["a login that ended", principal("login:1", "ann"), { tokens: true, logins: false, role: "guest" }, false],
  ["a login of a person who is gone", principal("login:1", "ann"), { logins: true }, false],
  ["a login of a person who is only a contact", principal("login:1", "ann"), { logins: true, role: "contact" }, false],
  ["a login of the owner, who has no record", principal("login:1", OWNER), { logins: true }, true],
  ["a login of the owner that ended", principal("login:1", OWNER), { logins: false }, false],
  ["a guest whom a proxy names", principal("proxy:ann", "ann"), { logins: false, role: "guest" }, true],
  ["a person whom a proxy names and who is gone", principal("proxy:ann", "ann"), { tokens: true, logins: true }, false],
  ["the owner whom a proxy names", principal("proxy:owner", OWNER), { tokens: true, logins: true }, false],
  ["no person whom a proxy names", principal("proxy:"), { tokens: true, logins: true }, false],
  ["a login while the store does not answer", principal("login:1", "ann"), { logins: true, fails: true }, true],
])("%s is still valid: %s", async (_, one, world, expected) => {
  expect(await isStillValid(contextOf(world), one)).toBe(expected);
});

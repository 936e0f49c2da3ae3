import { describe, expect, it } from "vitest";
import { OWNER as OWNER_ID, type PersonId } from "../../../core/people/person.ts";
import { actorOf, assertOwner, isOwners } from "./actor.ts";
import { ANONYMOUS, OWNER, type Principal } from "./principal.ts";

const token = (more: Partial<Principal>): Principal => ({
  id: "t1",
  name: "t",
  kind: "old",
  scopes: ["admin"],
  ...more,
});

describe("who acts in a request", () => {
  it.each<[string, Principal, boolean]>([
    ["the control socket", OWNER, true],
    ["a token of the owner that may operate", token({ kind: "owner", scopes: ["operate"] }), true],
    ["a token of the owner that only reads", token({ kind: "owner", scopes: ["read", "chat"] }), false],
    ["an old token with all scopes", token({}), false],
    ["an application with all scopes", token({ kind: "application", app: "shop" }), false],
    ["a person with all scopes", token({ kind: "person", person: "ann" as PersonId }), false],
    ["no token", ANONYMOUS, false],
  ])("is the owner with %s: %s", (_, principal, expected) => {
    expect(isOwners(principal)).toBe(expected);
    const assert = () => assertOwner(principal);
    if (expected) assert();
    else expect(assert).toThrow(expect.objectContaining({ status: 403, code: "denied" }));
  });

  it.each<[string, Principal, "control" | "network", object]>([
    ["the control socket", OWNER, "control", { person: OWNER_ID, surface: "control", token: undefined }],
    ["the root token", OWNER, "network", { person: OWNER_ID, surface: "api", token: "root" }],
    ["the owner's token", token({ kind: "owner" }), "network", { person: OWNER_ID, surface: "api", token: "t1" }],
    ["a person", token({ kind: "person", person: "ann" as PersonId }), "network", { person: "ann", token: "t1" }],
    ["an old token", token({}), "network", { person: "token:t1", surface: "api", token: "t1" }],
    ["an application", token({ kind: "application" }), "network", { person: "token:t1", token: "t1" }],
  ])("is written to the audit log for %s as %s", (_, principal, surface, expected) => {
    expect(actorOf(principal, surface)).toMatchObject(expected);
  });
});

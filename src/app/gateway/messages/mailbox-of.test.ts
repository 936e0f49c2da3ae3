import { describe, expect, it } from "vitest";
import { OWNER_MAILBOXES } from "../../../core/delivery/route.ts";
import { OWNER as OWNER_ID, type PersonId } from "../../../core/people/person.ts";
import { OWNER, type Principal } from "../auth/principal.ts";
import { mailboxOf } from "./mailbox-of.ts";

const person = (id: string) => id as PersonId;
const token = (more: Partial<Principal>): Principal => ({
  id: "t1",
  name: "t",
  kind: "old",
  scopes: ["chat"],
  ...more,
});
const owners = token({ kind: "owner", person: OWNER_ID, scopes: ["operate"] });
const old = token({});
const oldAnn = token({ user: "ann", person: person("api:ann") });
const ann = token({ kind: "person", person: person("ann") });
const shop = token({ kind: "application", app: "shop" });
const OWN = { channel: "api", accountId: "t1", to: "t1" };

describe("the mailbox that a request reads", () => {
  it.each<[string, Principal, { user?: string; terminal?: string }, unknown]>([
    ["the root token", OWNER, {}, OWNER_MAILBOXES],
    [
      "the root token for an application's user",
      OWNER,
      { user: "app:shop/ann" },
      [{ channel: "api", to: "app:shop/ann" }],
    ],
    ["the root token for the terminal", OWNER, { terminal: "tty" }, [{ channel: "terminal", to: "tty" }]],
    ["another token of the owner", owners, {}, [OWN]],
    ["an old token", old, {}, [OWN]],
    ["an old token for a user", old, { user: "ann" }, [{ channel: "api", to: "ann" }]],
    ["an old token of one user", oldAnn, {}, [{ channel: "api", to: "ann" }]],
    ["a person", ann, {}, [{ channel: "api", to: "person:ann" }]],
    ["an application", shop, {}, [OWN]],
    ["an application for a user", shop, { user: "ann" }, [{ channel: "api", to: "app:shop/ann" }]],
  ])("of %s", (_, principal, named, expected) => {
    expect(mailboxOf(principal, named)).toEqual(expected);
  });

  it.each<[string, Principal, { user?: string; terminal?: string }]>([
    ["the terminal, for a token of the owner that is no admin", owners, { terminal: "tty" }],
    ["the terminal, for an old token with all scopes", token({ scopes: ["admin"] }), { terminal: "tty" }],
    ["the terminal, for a person", token({ ...ann, scopes: ["admin"] }), { terminal: "tty" }],
    ["another user, for an old token of one user", oldAnn, { user: "bob" }],
    ["another person, for a person", ann, { user: "bob" }],
  ])("is not that of %s", (_, principal, named) => {
    expect(() => mailboxOf(principal, named)).toThrow(expect.objectContaining({ status: 403, code: "denied" }));
  });
});

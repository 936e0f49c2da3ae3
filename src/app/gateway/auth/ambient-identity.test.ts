import { describe, expect, it } from "vitest";
import { OWNER as OWNER_ID, type PersonId } from "../../../core/people/person.ts";
import { ambientIdentity } from "./ambient-identity.ts";
import type { Caller } from "./authorise.ts";
import { OWNER } from "./principal.ts";

interface World {
  readonly login?: string;
  readonly cookie?: string;
  readonly authorization?: string;
  readonly names?: readonly string[];
  readonly peer?: string;
  readonly method?: string;
  readonly surface?: "network" | "control";
  readonly sameOrigin?: boolean;
  readonly person?: string;
  readonly role?: string;
}

async function identityIn(world: World) {
  const { login, cookie, authorization, names = [], peer = "10.0.0.2", person = "ann", role = "guest" } = world;
  const directory = { now: async () => ({ personOf: () => person as PersonId, record: () => ({ role }) }) };
  const context = {
    settings: { current: { gateway: { trustedProxy: { header: "X-Who", addresses: ["10.0.0.2"] } } } },
    logins: { find: async (secret: string) => (secret === "good" ? OWNER : undefined) },
    agents: { directory },
  } as never;
  const caller = {
    surface: world.surface ?? "network",
    peer,
    incoming: {
      method: world.method ?? "GET",
      headers: { "rookery-login": login, cookie, authorization },
      rawHeaders: names.flatMap((name) => ["x-WHO", name]),
    },
    isSameOrigin: () => world.sameOrigin ?? false,
  } as unknown as Caller;
  return ambientIdentity(context, caller);
}

describe("who a request without a token comes from", () => {
  it.each<[string, World, string | undefined]>([
    ["a login", { login: "good" }, "root"],
    ["a secret that is no login", { login: "bad" }, undefined],
    ["a cookie with the secret of a login", { cookie: "rookery=good; rookery-login=good" }, undefined],
    ["a login beside a token", { login: "good", authorization: "Bearer x" }, undefined],
    ["a login on the control socket", { login: "good", surface: "control" }, undefined],
    ["a name from the proxy", { names: ["ann@x"] }, "proxy:ann"],
    ["a name from another address", { names: ["ann@x"], peer: "10.0.0.3" }, undefined],
    ["a name from the proxy before a login", { names: ["ann@x"], login: "good" }, "proxy:ann"],
    ["no name from the proxy", { login: "good" }, "root"],
    ["a change with a login", { login: "good", method: "POST" }, "root"],
    ["a change without a login", { login: "bad", method: "POST" }, undefined],
    [
      "a change from a page of this server by a name",
      { names: ["ann@x"], method: "POST", sameOrigin: true },
      "proxy:ann",
    ],
    ["a look with HEAD by a name", { names: ["ann@x"], method: "HEAD" }, "proxy:ann"],
    ["a name at the limit", { names: ["x".repeat(256)] }, "proxy:ann"],
  ])("is known from %s", async (_, world, expected) => {
    expect((await identityIn(world))?.id).toBe(expected);
  });

  it.each<[string, World, number, string]>([
    ["a change by a name from a foreign page", { names: ["ann@x"], method: "POST" }, 403, "foreign_origin"],
    ["two names", { names: ["ann@x", "bob@x"] }, 400, "bad_identity"],
    ["an empty name", { names: [" "] }, 400, "bad_identity"],
    ["a name that is too long", { names: ["x".repeat(257)] }, 400, "bad_identity"],
    ["an account of no one", { names: ["eve@x"], person: "proxy:eve@x" }, 403, "stranger"],
    ["an account of a contact", { names: ["ann@x"], role: "contact" }, 403, "stranger"],
    ["an account of the owner", { names: ["o@x"], person: OWNER_ID }, 403, "stranger"],
  ])("is refused with %s", async (_, world, status, code) => {
    await expect(identityIn(world)).rejects.toMatchObject({ status, code });
  });

  it("has the scope chat and the rights of that person, if a proxy names it", async () => {
    expect(await identityIn({ names: ["ann@x"] })).toMatchObject({ kind: "person", person: "ann", scopes: ["chat"] });
  });
});

import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { OWNER as OWNER_ID, type PersonId } from "../../../core/people/person.ts";
import { type AmbientContext, ambientIdentity, cookieIn, cookieName, loginCookie } from "./ambient-identity.ts";
import type { Caller } from "./authorise.ts";
import { OWNER } from "./principal.ts";

const withCookie = (cookie?: string) => ({ headers: { cookie } }) as unknown as IncomingMessage;

describe("the cookie of a login", () => {
  it.each([
    ["rookery=a", "a"],
    ["x=1; rookery = a=b ; y=2", "a=b"],
    ["rookery=a; rookery=a", undefined],
    ["rookery=a; rookery=b", undefined],
    ["xrookery=a", undefined],
    ["Rookery=a", undefined],
    ["__Host-rookery=a", undefined],
    ["rookery", undefined],
    ["=rookery", undefined],
    ["rookery=", ""],
    [undefined, undefined],
  ])("in %j is %j", (cookie, expected) => {
    expect(cookieIn(withCookie(cookie), "rookery")).toBe(expected);
  });

  it("is bound to this host over TLS, and never read by scripts or sent by other sites", () => {
    expect([cookieName(true), cookieName(false)]).toEqual(["__Host-rookery", "rookery"]);
    expect(loginCookie("s", false, 5)).toBe("rookery=s; Path=/; Max-Age=5; HttpOnly; SameSite=Strict");
    expect(loginCookie("s", true, 5)).toBe("__Host-rookery=s; Path=/; Max-Age=5; HttpOnly; SameSite=Strict; Secure");
  });
});

interface World {
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
  const { cookie, authorization, names = [], peer = "10.0.0.2", person = "ann", role = "guest" } = world;
  const directory = { now: async () => ({ personOf: () => person as PersonId, record: () => ({ role }) }) };
  const context = {
    config: () => ({ gateway: { trustedProxy: { header: "X-Who", addresses: ["10.0.0.2"] } } }),
    logins: { find: async (secret: string) => (secret === "good" ? OWNER : undefined) },
    agents: { directory },
  } as unknown as AmbientContext;
  const caller = {
    surface: world.surface ?? "network",
    peer,
    incoming: {
      method: world.method ?? "GET",
      headers: { cookie, authorization },
      rawHeaders: names.flatMap((name) => ["x-WHO", name]),
    },
    isSecure: () => false,
    isSameOrigin: () => world.sameOrigin ?? false,
  } as unknown as Caller;
  return ambientIdentity(context, caller);
}

describe("who a request without a token comes from", () => {
  it.each<[string, World, string | undefined]>([
    ["a login", { cookie: "rookery=good" }, "root"],
    ["a cookie that is no login", { cookie: "rookery=bad" }, undefined],
    ["a login beside a token", { cookie: "rookery=good", authorization: "Bearer x" }, undefined],
    ["a login on the control socket", { cookie: "rookery=good", surface: "control" }, undefined],
    ["a name from the proxy", { names: ["ann@x"] }, "proxy:ann"],
    ["a name from another address", { names: ["ann@x"], peer: "10.0.0.3" }, undefined],
    ["a name from the proxy before a login", { names: ["ann@x"], cookie: "rookery=good" }, "proxy:ann"],
    ["no name from the proxy", { cookie: "rookery=good" }, "root"],
    ["a change from a page of this server", { cookie: "rookery=good", method: "POST", sameOrigin: true }, "root"],
    ["a look with HEAD", { cookie: "rookery=good", method: "HEAD" }, "root"],
    ["a change without a login", { cookie: "rookery=bad", method: "POST" }, undefined],
    ["a name at the limit", { names: ["x".repeat(256)] }, "proxy:ann"],
  ])("is known from %s", async (_, world, expected) => {
    expect((await identityIn(world))?.id).toBe(expected);
  });

  it.each<[string, World, number, string]>([
    ["a change from a foreign page", { cookie: "rookery=good", method: "DELETE" }, 403, "foreign_origin"],
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

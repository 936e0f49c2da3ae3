import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SCOPES, type Scope } from "../../core/rights/scope.ts";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "./gateway.test-kit.ts";
import { ROUTES } from "./route-table.ts";
import { isStream } from "./routing/output.ts";
import type { Route } from "./routing/route.ts";

const PARAMS: Readonly<Record<string, string>> = {
  agent: "a".repeat(24),
  run: "00000000-0000-7000-8000-000000000000",
  delivery: "x.0",
  seq: "1",
  token: "0".repeat(12),
  person: "ann",
  login: "0".repeat(12),
};
const pathOf = ({ path }: Route): string => path.replace(/:(\w+)/g, (_, name: string) => PARAMS[name] ?? "main");
const requestTo = (route: Route) => ({
  method: route.method,
  path: pathOf(route),
  body: route.method === "GET" ? undefined : {},
});

let kit: TestGateway;
let revoked: string;
let expired: string;
const tokenWith = new Map<Scope, string>();

beforeAll(async () => {
  kit = await openTestGateway({ limits: { failuresPerMinute: 100_000 } });
  for (const scope of SCOPES) tokenWith.set(scope, (await kit.mint(scope)).token);
  const toRevoke = await kit.mint("admin");
  revoked = toRevoke.token;
  expect((await kit.ask({ path: "/api/health", token: revoked })).status).toBe(200);
  expect((await kit.ask({ method: "DELETE", path: `/api/tokens/${toRevoke.id}` })).json).toEqual({
    revoked: [toRevoke.id],
  });
  const root = { id: "root", name: "root", kind: "owner", scopes: ["admin"] } as const;
  expired = (await kit.gateway.context.tokens.mint(root, { name: "old", scopes: ["admin"], expiresInDays: 1e-12 }))
    .token;
});
afterAll(() => kit.close());

/** The single scopes that do not include a route's scope. */
const insufficient: Readonly<Record<Scope, readonly Scope[]>> = {
  read: ["chat"],
  chat: ["read"],
  operate: ["read", "chat"],
  admin: ["read", "chat", "operate"],
};

describe.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
  const denied = async (more: object): Promise<{ status: number; code: string | undefined }> => {
    const { status, json } = await kit.ask({ ...requestTo(route), ...more });
    return { status, code: json.error?.code };
  };

  it("denies foreign origins, foreign hosts and tokens in the URL, also with the root token", async () => {
    const foreign = { status: 403, code: "foreign_origin" };
    for (const origin of [
      "https://evil.example",
      "null",
      "http://127.0.0.1:1",
      `https://127.0.0.1:${kit.gateway.port}`,
    ]) {
      expect(await denied({ headers: { origin } }), origin).toEqual(foreign);
    }
    expect(await denied({ headers: { "sec-fetch-site": "cross-site" } })).toEqual(foreign);
    for (const host of ["evil.example", `evil.example:${kit.gateway.port}`, "127.0.0.1.evil.example", "10.0.0.1"]) {
      expect(await denied({ headers: { host } }), host).toEqual({ status: 421, code: "foreign_host" });
    }
    const inUrl = { status: 400, code: "token_in_url" };
    const path = pathOf(route);
    for (const token of [null, ROOT_TOKEN]) {
      expect(await denied({ token, path: `${path}?token=${ROOT_TOKEN}` })).toEqual(inUrl);
      expect(await denied({ token, path: `${path}?access_token=${ROOT_TOKEN}` })).toEqual(inUrl);
      expect(await denied({ token, path: `${path}?x=${tokenWith.get("admin")}` })).toEqual(inUrl);
    }
  });

  if (route.access === "anonymous" || route.access === "hook") return;

  it("denies missing, wrong, revoked and expired tokens", async () => {
    const unauthorized = { status: 401, code: "unauthorized" };
    expect(await denied({ token: null })).toEqual(unauthorized);
    expect(await denied({ token: "wrong" })).toEqual(unauthorized);
    expect(await denied({ token: `${ROOT_TOKEN}x` })).toEqual(unauthorized);
    expect(await denied({ token: (tokenWith.get("admin") ?? "").replace(/.$/, "!") })).toEqual(unauthorized);
    expect(await denied({ token: null, headers: { authorization: `Basic ${btoa(`x:${ROOT_TOKEN}`)}` } })).toEqual(
      unauthorized,
    );
    expect(await denied({ token: revoked })).toEqual(unauthorized);
    expect(await denied({ token: expired })).toEqual(unauthorized);
  });

  if (route.access === "any") return;

  it("denies tokens without the route's scope, and allows those with it", async () => {
    const { access } = route;
    for (const scope of insufficient[access as Scope]) {
      // Who sends may also read and change what is its own.
      if (route.own && access !== "chat" && scope === "chat") continue;
      expect(await denied({ token: tokenWith.get(scope) }), scope).toEqual({ status: 403, code: "insufficient_scope" });
    }
    if (isStream(route) || route.path === "/api/config/reload") return;
    const { status, text } = await kit.ask({ ...requestTo(route), token: tokenWith.get(access as Scope) });
    expect([401, 403], text).not.toContain(status);
  });
});

describe("tokens", () => {
  it("grant at most their own scopes, and are revoked with the tokens they minted", async () => {
    const mint = (token: string, scopes: readonly Scope[]) =>
      kit.ask({ method: "POST", path: "/api/tokens", token, body: { name: "child", scopes } });
    for (const scope of SCOPES) {
      for (const wanted of insufficient[scope].length ? SCOPES : []) {
        const { status } = await mint(tokenWith.get(scope) ?? "", [wanted]);
        const may = scope === "admin" || scope === wanted || (scope === "operate" && wanted !== "admin");
        expect([scope, wanted, status]).toEqual([scope, wanted, may ? 201 : 403]);
      }
    }
    const parent = await kit.mint("operate");
    const child = (await mint(parent.token, ["chat"])).json as { token: string; record: { id: string } };
    const grandchild = (await mint(child.token, ["chat"])).json as { token: string; record: { id: string } };
    expect((await kit.ask({ path: "/v1/models", token: grandchild.token })).status).toBe(200);
    const unrelated = await kit.mint("operate");
    const byUnrelated = await kit.ask({ method: "DELETE", path: `/api/tokens/${parent.id}`, token: unrelated.token });
    expect(byUnrelated.status).toBe(404);
    await kit.ask({ method: "DELETE", path: `/api/tokens/${parent.id}` });
    for (const { token } of [parent, child, grandchild]) {
      expect((await kit.ask({ path: "/v1/models", token })).status).toBe(401);
    }
  });

  it("are shown once, and stored as hashes", async () => {
    const { token, id } = await kit.mint("read");
    const { text } = await kit.ask({ path: "/api/tokens" });
    expect(text).toContain(id);
    expect(text).not.toContain(token.slice(-20));
    const { readFileSync, statSync } = await import("node:fs");
    expect(readFileSync(`${kit.home}/tokens.json`, "utf8")).not.toContain(token.slice(-20));
    expect(statSync(`${kit.home}/tokens.json`).mode & 0o777).toBe(0o600);
  });
});

describe("a caller without a valid token", () => {
  it("does not learn which routes exist", async () => {
    expect((await kit.ask({ path: "/nothing", token: null })).status).toBe(401);
    expect((await kit.ask({ path: "/nothing" })).status).toBe(404);
    expect((await kit.ask({ method: "DELETE", path: "/api/agents" })).json.error?.code).toBe("method_not_allowed");
  });

  it("gets a 429 after too many wrong tokens; valid tokens and hooks from the same address are not slowed down", async () => {
    const hooks = { open: { token: "secret-of-the-hook", prompt: "{{text}}" } };
    const strict = await openTestGateway({ config: { hooks }, limits: { failuresPerMinute: 3 } });
    try {
      const statuses = [];
      for (let n = 0; n < 4; n++) statuses.push((await strict.ask({ path: "/api/agents", token: "guess" })).status);
      expect(statuses).toEqual([401, 401, 401, 429]);
      expect((await strict.ask({ path: "/api/agents" })).status).toBe(200);
      expect((await strict.ask({ path: "/api/agents", token: "guess" })).status).toBe(429);
      await strict.node.triggers.start(strict.node.agents);
      const call = (token: string) => strict.ask({ method: "POST", path: "/hooks/open", token, body: { text: "x" } });
      expect((await call("guess")).status).toBe(429);
      expect((await call("secret-of-the-hook")).status).toBe(202);
      expect((await strict.ask({ path: "/healthz", token: null })).status).toBe(200);
    } finally {
      await strict.close();
    }
  });
});

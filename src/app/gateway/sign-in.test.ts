/** Signing in to the control room with a code, what the login may do, and what an attacker tries against both. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { configSchema } from "../../config/config-schema.ts";
import { openTestGateway, type TestGateway, type TestResponse } from "./gateway.test-kit.ts";

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ limits: { failuresPerMinute: 100_000 } });
});
afterAll(() => kit.close());

const own = () => `http://127.0.0.1:${kit.gateway.port}`;

async function code(): Promise<string> {
  const { status, json } = await kit.ask({ method: "POST", path: "/api/logins/codes", body: {} });
  expect(status).toBe(201);
  const url = new URL(String(json.url));
  expect([url.origin, url.pathname, url.search]).toEqual([own(), "/", ""]);
  return url.hash.slice("#code=".length);
}

const use = (given: string, more: { headers?: Record<string, string>; nonce?: string } = {}) =>
  kit.ask({
    method: "POST",
    path: "/api/logins",
    token: null,
    headers: more.headers,
    body: { code: given, nonce: more.nonce },
  });

const secretIn = ({ json }: TestResponse): string => String(json.secret);

async function signedIn(): Promise<string> {
  const used = await use(await code());
  expect(used.status).toBe(200);
  return secretIn(used);
}

const as = (
  login: string,
  path: string,
  more: { method?: string; body?: object; headers?: Record<string, string> } = {},
) => kit.ask({ path, token: null, ...more, headers: { "rookery-login": login, ...more.headers } });

describe("a sign-in code", () => {
  it("becomes a login of the owner without a cookie", async () => {
    const used = await use(await code());
    expect(secretIn(used)).toMatch(/^rs_[a-z0-9]{12}_[\w-]{43}$/);
    expect([used.headers["set-cookie"], used.headers["cache-control"]]).toEqual([undefined, "no-store"]);
    const me = await as(secretIn(used), "/api/me");
    expect(me.json).toMatchObject({ person: "owner", isOwner: true, scopes: ["admin"], kind: "owner" });
    expect(JSON.stringify(me.json)).not.toContain("rs_");
  });

  it("works once, with the same nonce again only for the same browser", async () => {
    const given = await code();
    const nonce = "n".repeat(32);
    const first = await use(given, { nonce });
    expect((await use(given)).json.error?.code).toBe("code_used");
    expect(secretIn(await use(given, { nonce }))).toBe(secretIn(first));
  });

  it("is gone after a minute", async () => {
    const { logins, ports } = kit.gateway.context;
    const { expiresAt } = await logins.code({ person: "owner", surface: "test" });
    expect(expiresAt - ports.clock.now()).toBeLessThanOrEqual(60_000);
    expect(expiresAt - ports.clock.now()).toBeGreaterThan(55_000);
  });

  it("is not an invitation, and an invitation is not a code", async () => {
    const given = await code();
    expect((await as(given, "/api/invitation")).status).toBe(410);
    const body = { invitation: given };
    expect((await kit.ask({ method: "POST", path: "/api/logins", token: null, body })).status).toBe(410);
    kit.config = configSchema.parse({ gateway: { publicUrl: own() } });
    const { json } = await kit.ask({ method: "POST", path: "/api/people/ann/invitations" });
    const invitation = new URL(String(json.link)).hash.slice("#invite=".length);
    expect((await use(invitation)).status).toBe(410);
    expect((await use(given)).status).toBe(200);
  });

  it("is not taken from pages of other origins", async () => {
    const given = await code();
    expect((await use(given, { headers: { origin: "https://evil.example" } })).status).toBe(403);
    expect((await use(given, { headers: { host: "evil.example" } })).status).toBe(421);
    expect((await use(given)).status).toBe(200);
  });

  it("is made by the owner only", async () => {
    for (const scope of ["read", "chat", "operate"] as const) {
      const { token } = await kit.mint(scope);
      expect((await kit.ask({ method: "POST", path: "/api/logins/codes", token, body: {} })).status).toBe(403);
    }
  });

  it("is stored as a hash", async () => {
    const given = await code();
    expect(await kit.node.ports.store.fact("api.logins")).not.toContain(given.slice(-20));
  });
});

describe("a login of the owner", () => {
  it("is one as a header only: not as a cookie, a token or a second header", async () => {
    const login = await signedIn();
    expect((await as(login, "/api/agents")).status).toBe(200);
    const forged = { origin: own(), referer: `${own()}/`, "sec-fetch-site": "same-origin" };
    const wrong: readonly Readonly<Record<string, string>>[] = [
      { cookie: `rookery=${login}` },
      { cookie: `rookery-login=${login}` },
      { authorization: `Bearer ${login}` },
      { "rookery-login": `${login}, ${login}` },
    ];
    for (const headers of wrong) {
      for (const more of [{ path: "/api/agents" }, { method: "POST", path: "/api/people", body: { id: "eve" } }]) {
        const { status } = await kit.ask({ token: null, ...more, headers: { ...forged, ...headers } });
        expect(status, JSON.stringify([headers, more])).toBe(401);
      }
    }
  });

  it("refuses pages of other origins, including those that may use tokens", async () => {
    const login = await signedIn();
    const { config } = kit;
    for (const origin of ["null", "http://127.0.0.1:1"])
      expect((await as(login, "/api/agents", { headers: { origin } })).status).toBe(403);
    kit.config = configSchema.parse({ gateway: { allowedOrigins: ["https://app.example"] } });
    try {
      const headers = { origin: "https://app.example", "access-control-request-headers": "rookery-login" };
      const preflight = await kit.ask({ method: "OPTIONS", path: "/api/agents", token: null, headers });
      expect(preflight.headers["access-control-allow-headers"]).toContain("authorization");
      expect(preflight.headers["access-control-allow-headers"]).not.toContain("rookery-login");
    } finally {
      kit.config = config;
    }
  });

  it("ends at once when it is revoked", async () => {
    const login = await signedIn();
    const { json } = await as(login, "/api/me");
    const ended = await kit.ask({ method: "DELETE", path: `/api/logins/${json.login}` });
    expect(ended.status).toBe(200);
    expect((await as(login, "/api/me")).status).toBe(401);
  });
});

describe("the page", () => {
  it("has a strict policy, and files whose names never change their content", async () => {
    const page = await kit.ask({ path: "/", token: null });
    expect(page.status).toBe(200);
    expect(page.headers["content-security-policy"]).toContain("default-src 'self'");
    expect(page.headers["content-security-policy"]).not.toMatch(/unsafe|\*|data:|https?:/);
    expect(page.headers["cache-control"]).toBe("no-cache");
    expect(page.text).not.toMatch(/<script>|<style|style=|onload=/);
    const names = [...page.text.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, name]) => name ?? "");
    expect(names.length).toBeGreaterThanOrEqual(3);
    for (const name of names) {
      const file = await kit.ask({ path: `/${name}`, token: null });
      expect([file.status, file.headers["cache-control"]], name).toEqual([200, "public, max-age=31536000, immutable"]);
    }
    expect((await kit.ask({ path: "/assets/..%2f..%2fpackage.json", token: null })).status).toBe(404);
    expect((await kit.ask({ path: "/assets/none.js", token: null })).status).toBe(404);
  });

  it("opens from a link on another site, which the API does not", async () => {
    const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect((await kit.ask({ path: "/", token: null, headers })).status).toBe(200);
    expect((await as(await signedIn(), "/api/agents", { headers })).status).toBe(403);
  });

  it("is at most 125 KB gzip", async () => {
    const { pageFiles } = await import("./page/page-files.ts");
    const files = await pageFiles();
    const bytes = [...files.values()].reduce((sum, { gzipped }) => sum + gzipped.length, 0);
    console.log(`control room: ${files.size} files, ${bytes} bytes gzip`);
    expect(bytes).toBeLessThan(125_000);
  });
});

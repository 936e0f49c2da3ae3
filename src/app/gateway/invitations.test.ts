/** Invitations and the logins they become, and what an attacker tries against them. */
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { configSchema } from "../../config/config-schema.ts";
import { openTestGateway, type TestGateway, type TestResponse } from "./gateway.test-kit.ts";

const GATEWAY = { publicUrl: "http://rookery.test:8080/", limits: { failuresPerMinute: 100_000 } };
let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ config: { gateway: GATEWAY } });
});
afterAll(() => kit.close());

const own = () => `http://127.0.0.1:${kit.gateway.port}`;
let people = 0;
/** A link for a person of its own, as a path. */
async function invited(id = `ann${++people}`): Promise<{ id: string; path: string }> {
  const { status, json, text } = await kit.ask({ method: "POST", path: `/api/people/${id}/invitations` });
  expect(status, text).toBe(201);
  expect(String(json.link)).toMatch(/^http:\/\/rookery\.test:8080\/invite\/ri_[a-z0-9]{12}_[A-Za-z0-9_-]{43}$/);
  return { id, path: new URL(String(json.link)).pathname };
}

const page = (path: string, headers: Record<string, string> = {}) => kit.ask({ path, token: null, headers });
const nonceIn = ({ text }: TestResponse): string => /name="nonce" value="([^"]+)"/.exec(text)?.[1] ?? "";
/** Presses the button, as a browser does. */
const press = (path: string, nonce: string, headers: Record<string, string> = {}) =>
  kit.ask({
    method: "POST",
    path,
    token: null,
    headers: { "content-type": "application/x-www-form-urlencoded", origin: own(), ...headers },
    body: `nonce=${nonce}`,
  });
const cookieOf = ({ headers }: TestResponse): string => (headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";

/** A browser that is signed in. */
async function signedIn(): Promise<{ id: string; cookie: string; login: string }> {
  const { id, path } = await invited();
  const cookie = cookieOf(await press(path, nonceIn(await page(path))));
  const { json } = await kit.ask({ path: `/api/logins?person=${id}` });
  return { id, cookie, login: (json.items as { id: string }[])[0]?.id ?? "" };
}
const as = (cookie: string, path: string, more: object = {}) =>
  kit.ask({ path, token: null, ...more, headers: { cookie, ...(more as { headers?: object }).headers } });

describe("an invitation", () => {
  it("signs a person in once: looking at it changes nothing, the button sets a cookie that scripts cannot read", async () => {
    const { id, path } = await invited();
    for (const method of ["GET", "HEAD", "GET"])
      expect((await kit.ask({ method, path, token: null })).status).toBe(200);
    const shown = await page(path);
    expect(shown.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    const used = await press(path, nonceIn(shown));
    expect([used.status, used.headers.location]).toEqual([303, "../"]);
    expect(used.headers["set-cookie"]?.[0]).toMatch(
      /^rookery=rs_[a-z0-9]{12}_[\w-]{43}; Path=\/; Max-Age=259(?:2000|1\d\d\d); HttpOnly; SameSite=Strict$/,
    );
    const cookie = cookieOf(used);
    expect((await page(path, { cookie })).text).toContain(`You are signed in as ${id}.`);
    expect((await as(cookie, "/api/people")).json.items).toMatchObject([{ id, role: "guest" }]);
    const rows = await kit.node.ports.store.audit({ limit: 10, person: id });
    expect(rows).toMatchObject([{ action: "login.begin", surface: "invite", target: id }]);
  });

  it("makes no record for a person who has one, and is not for contacts", async () => {
    await kit.ask({ method: "POST", path: "/api/people", body: { id: "known", name: "<b>Ann</b>" } });
    const { path } = await invited("known");
    expect((await page(path)).text).toContain("&lt;b&gt;Ann&lt;/b&gt;");
    await kit.ask({ method: "POST", path: "/api/people", body: { id: "shopper", role: "contact" } });
    const refused = await kit.ask({ method: "POST", path: "/api/people/shopper/invitations" });
    expect([refused.status, refused.json.error?.code]).toEqual([409, "contact"]);
  });

  it("needs an address that people can reach, and says which key to set", async () => {
    const { config } = kit;
    kit.config = configSchema.parse({});
    const refused = await kit.ask({ method: "POST", path: "/api/people/new/invitations" });
    kit.config = config;
    expect([refused.status, refused.json.error?.message]).toEqual([409, expect.stringContaining("gateway.publicUrl")]);
    expect((await kit.ask({ path: "/api/people/new" })).status).toBe(404);
  });

  it("cannot be used twice, one after the other or at the same moment", async () => {
    const { id, path } = await invited();
    const nonces = await Promise.all(Array.from({ length: 6 }, async () => nonceIn(await page(path))));
    const answers = await Promise.all(nonces.map((nonce) => press(path, nonce)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 404, 404, 404, 404, 404]);
    const fresh = "x".repeat(32);
    const later = await press(path, fresh);
    expect([later.status, later.headers["set-cookie"]]).toEqual([404, undefined]);
    expect((await kit.ask({ path: `/api/logins?person=${id}` })).json.items).toHaveLength(1);
  });

  it("gives a browser that lost the answer the same login again, and another one none", async () => {
    const { id, path } = await invited();
    const nonce = nonceIn(await page(path));
    const first = await press(path, nonce);
    const again = await press(path, nonce);
    expect([again.status, cookieOf(again)]).toEqual([303, cookieOf(first)]);
    const [login] = (await kit.ask({ path: `/api/logins?person=${id}` })).json.items as { id: string }[];
    await kit.ask({ method: "DELETE", path: `/api/logins/${login?.id}` });
    expect((await press(path, nonce)).status).toBe(404);
  });

  it("ends after 24 hours, and with its person", async () => {
    const { id, path } = await invited();
    await kit.ask({ method: "DELETE", path: `/api/people/${id}` });
    expect((await page(path)).status).toBe(404);
    const late = await invited();
    const { logins } = kit.gateway.context;
    const { clock } = kit.node.ports as { clock: { now: () => number } };
    const { now } = clock;
    clock.now = () => now() + 24 * 3_600_000 + 1;
    try {
      expect(await logins.invited(late.path.slice("/invite/".length))).toBeUndefined();
      expect((await press(late.path, "y".repeat(32))).status).toBe(404);
    } finally {
      clock.now = now;
    }
  });

  it("cannot be guessed: 256 random bits, and wrong links make their address wait", async () => {
    const { path } = await invited();
    const strict = await openTestGateway({ config: { gateway: { ...GATEWAY, limits: { failuresPerMinute: 3 } } } });
    try {
      const wrong = [path, "/invite/x", `${path.slice(0, -1)}!`, path];
      const statuses = [];
      for (const one of wrong) statuses.push((await strict.ask({ path: one, token: null })).status);
      expect(statuses).toEqual([404, 404, 404, 429]);
    } finally {
      await strict.close();
    }
    // A wrong secret with the right id.
    expect((await page(`${path.slice(0, -3)}AAA`)).status).toBe(404);
    expect((await page(path)).status).toBe(200);
  });

  it("is stored as a hash, and so is the login", async () => {
    const { path } = await invited();
    const cookie = cookieOf(await press((await invited()).path, "z".repeat(32)));
    const stored = await kit.node.ports.store.fact("api.logins");
    expect(stored).not.toContain(path.slice(-20));
    expect(stored).not.toContain(cookie.slice(-20));
  });

  it("opens from a link on another site, but its form is sent from its own page only", async () => {
    const { path } = await invited();
    const followed = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect((await page(path, followed)).status).toBe(200);
    expect((await page(path, { ...followed, "sec-fetch-dest": "iframe" })).status).toBe(403);
    expect((await page(path, { ...followed, "sec-fetch-mode": "no-cors" })).status).toBe(403);
    expect((await page("/api/people", followed)).status).toBe(403);
    expect((await press(path, "n".repeat(32), { origin: "https://evil.example" })).status).toBe(403);
    expect((await page(path)).status).toBe(200);
  });

  it("over https sets a cookie that no other host can set", async () => {
    const { config } = kit;
    kit.config = configSchema.parse({ gateway: { ...GATEWAY, publicUrl: "https://rookery.test" } });
    try {
      const { json } = await kit.ask({ method: "POST", path: "/api/people/secure/invitations" });
      const headers = { host: "rookery.test", origin: "https://rookery.test" };
      const used = await press(new URL(String(json.link)).pathname, "s".repeat(32), headers);
      const cookie = used.headers["set-cookie"]?.[0] ?? "";
      expect(cookie).toMatch(/^__Host-rookery=rs_.*; HttpOnly; SameSite=Strict; Secure$/);
      const plain = cookie.split(";")[0]?.replace("__Host-", "") ?? "";
      expect((await as(cookie.split(";")[0] ?? "", "/api/people", { headers: { host: "rookery.test" } })).status).toBe(
        200,
      );
      expect((await as(plain, "/api/people", { headers: { host: "rookery.test" } })).status).toBe(401);
    } finally {
      kit.config = config;
    }
  });
});

describe("a login", () => {
  it("is not one that was there before: a planted cookie is worth nothing, before and after", async () => {
    const { path } = await invited();
    const planted = `rookery=rs_${"a".repeat(12)}_${"b".repeat(43)}`;
    expect((await as(planted, "/api/people")).status).toBe(401);
    const used = await press(path, nonceIn(await page(path)), { cookie: planted });
    expect(cookieOf(used)).not.toBe(planted);
    expect((await as(planted, "/api/people")).status).toBe(401);
    // Two cookies of one name: one may be planted, so neither counts.
    expect((await as(`${planted}; ${cookieOf(used)}`, "/api/people")).status).toBe(401);
  });

  it("changes something from a page of this server only", async () => {
    const { cookie, login } = await signedIn();
    const end = (headers: object) => as(cookie, `/api/logins/${login}`, { method: "DELETE", headers });
    for (const headers of [
      {},
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "http://127.0.0.1:1" },
    ]) {
      expect((await end(headers)).json.error?.code, JSON.stringify(headers)).toBe("foreign_origin");
    }
    kit.config = configSchema.parse({ gateway: { ...GATEWAY, allowedOrigins: ["https://app.example"] } });
    const other = await end({ origin: "https://app.example" });
    kit.config = configSchema.parse({ gateway: GATEWAY });
    expect(other.json.error?.code, "an allowed origin uses tokens, not cookies").toBe("foreign_origin");
    const message = { model: "main", messages: [{ role: "user", content: "hi" }] };
    const send = (headers: object) =>
      as(cookie, "/v1/chat/completions", { method: "POST", body: message, headers: { ...headers } });
    expect((await send({})).status).toBe(403);
    expect((await send({ origin: own() })).status).toBe(200);
    expect((await end({ origin: own() })).json).toMatchObject({ ended: login });
    expect((await as(cookie, "/api/people")).status).toBe(401);
  });

  it("sees the person's own things and nothing else", async () => {
    const { id, cookie } = await signedIn();
    const message = { model: "main", messages: [{ role: "user", content: "hello there" }] };
    await kit.ask({ method: "POST", path: "/v1/chat/completions", body: { ...message, user: "bob" } });
    const sent = await as(cookie, "/v1/chat/completions", {
      method: "POST",
      body: message,
      headers: { origin: own() },
    });
    expect(sent.status, sent.text).toBe(200);
    const { items: agents } = (await as(cookie, "/api/agents")).json as { items: { id: string }[] };
    expect(agents).toMatchObject([{ id: sent.headers["x-rookery-agent"] }]);
    expect((await as(cookie, "/api/usage")).json.by).toHaveLength(1);
    expect((await as(cookie, "/api/people")).json.items).toMatchObject([{ id }]);
    expect((await as(cookie, "/api/logins")).json.items).toMatchObject([{ person: id }]);
    expect((await as(cookie, "/api/cron")).json).toEqual({ items: [], next: null });
    for (const path of ["/api/audit", "/api/config", "/api/outbox", "/api/tree", "/metrics"]) {
      expect((await as(cookie, path)).status, path).toBe(403);
    }
    const other = await signedIn();
    expect((await as(cookie, `/api/people/${other.id}`)).status).toBe(404);
    const end = { method: "DELETE", headers: { origin: own() } };
    expect((await as(cookie, `/api/logins/${other.login}`, end)).status).toBe(404);
    const grant = { method: "POST", headers: { origin: own() }, body: { subject: "*" } };
    expect((await as(cookie, `/api/people/${id}/grants`, grant)).status).toBe(403);
    const invite = { method: "POST", headers: { origin: own() }, body: {} };
    expect((await as(cookie, "/api/people/mallory/invitations", invite)).status).toBe(403);
  });

  it("that ends, or whose person goes, closes its open streams at once", async () => {
    for (const how of ["login", "person"]) {
      const { id, cookie, login } = await signedIn();
      const { ended, opened } = stream(cookie);
      await opened;
      const path = how === "login" ? `/api/logins/${login}` : `/api/people/${id}`;
      expect((await kit.ask({ method: "DELETE", path })).status).toBe(200);
      await ended;
      expect((await as(cookie, "/api/people")).status, how).toBe(401);
    }
  });

  it("lasts as long as the configuration says, also if that changes, and survives a restart", async () => {
    const { cookie } = await signedIn();
    kit.config = configSchema.parse({ gateway: { ...GATEWAY, loginDays: 0.000_000_001 } });
    expect((await as(cookie, "/api/people")).status).toBe(401);
    kit.config = configSchema.parse({ gateway: GATEWAY });
    const { LoginService } = await import("./auth/login-service.ts");
    const reopened = await LoginService.open({ ports: kit.node.ports, isShared: false, loginMs: () => 1e9 });
    expect(await reopened.find(cookie.slice("rookery=".length))).toMatchObject({ kind: "person", scopes: ["chat"] });
  });
});

/** An open stream of the mailbox. */
function stream(cookie: string): { opened: Promise<void>; ended: Promise<void> } {
  const opened = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const options = { host: "127.0.0.1", port: kit.gateway.port, path: "/api/deliveries/events", headers: { cookie } };
  const sent = httpRequest(options, (response) => {
    if (response.statusCode === 200) opened.resolve();
    else opened.reject(new Error(`status ${response.statusCode}`));
    response.resume();
    response.on("close", () => ended.resolve());
  });
  sent.on("error", () => ended.resolve());
  sent.end();
  return { opened: opened.promise, ended: ended.promise };
}

describe("the header of a proxy", () => {
  const PROXY = { header: "X-Auth-User", addresses: ["127.0.0.1"] };
  const named = (name: string, more: object = {}) =>
    kit.ask({ path: "/api/people", token: null, headers: { "x-auth-user": name }, ...more });

  it("names a person only from the proxy's address, and only one who has a record", async () => {
    const person = { id: "pam", accounts: ["proxy:pam@example.com"] };
    await kit.ask({ method: "POST", path: "/api/people", body: person });
    expect((await named("pam@example.com")).status, "without a trusted proxy").toBe(401);
    const set = (trustedProxy: object) => {
      kit.config = configSchema.parse({ gateway: { ...GATEWAY, trustedProxy } });
    };
    try {
      set({ ...PROXY, addresses: ["10.0.0.1"] });
      expect((await named("pam@example.com")).status, "from another address").toBe(401);
      const forged = { "x-auth-user": "pam@example.com", "x-forwarded-for": "10.0.0.1" };
      expect((await named("", { headers: forged })).status, "with a forged address").toBe(401);
      set(PROXY);
      expect((await named("pam@example.com")).json.items).toMatchObject([{ id: "pam" }]);
      expect((await named("eve@example.com")).json.error?.code).toBe("stranger");
      for (const name of ["owner", "pam", "root"]) expect((await named(name)).status, name).toBe(403);
      expect((await named("x".repeat(300))).status).toBe(400);
      const change = { method: "POST", path: "/v1/chat/completions", body: {} };
      expect((await named("pam@example.com", change)).json.error?.code).toBe("foreign_origin");
      await kit.ask({ method: "DELETE", path: "/api/people/pam/accounts?account=proxy:pam@example.com" });
      expect((await named("pam@example.com")).status).toBe(403);
    } finally {
      kit.config = configSchema.parse({ gateway: GATEWAY });
    }
  });
});

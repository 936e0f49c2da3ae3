/** Invitations and the logins they become, and what an attacker tries against them. */
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { configSchema } from "../../config/config-schema.ts";
import { openTestGateway, type TestGateway, type TestResponse } from "./gateway.test-kit.ts";

const GATEWAY = { publicUrl: "http://rookery.test:8080/" };
let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ config: { gateway: GATEWAY }, limits: { failuresPerMinute: 100_000 } });
});
afterAll(() => kit.close());

const own = () => `http://127.0.0.1:${kit.gateway.port}`;
let people = 0;
/** The secret of an invitation for a person of its own. */
async function invited(id = `ann${++people}`): Promise<{ id: string; invitation: string }> {
  const { status, json, text } = await kit.ask({ method: "POST", path: `/api/people/${id}/invitations` });
  expect(status, text).toBe(201);
  expect(String(json.link)).toMatch(/^http:\/\/rookery\.test:8080\/#invite=ri_[a-z0-9]{12}_[A-Za-z0-9_-]{43}$/);
  return { id, invitation: new URL(String(json.link)).hash.slice("#invite=".length) };
}

/** Asks who is invited, as the page does before it shows its button. */
const look = (invitation: string) => as(invitation, "/api/invitation");
const freshNonce = (): string => `${++people}`.padStart(32, "n");
/** Presses the button. */
const press = (invitation: string, nonce = freshNonce(), headers: Record<string, string> = {}) =>
  kit.ask({ method: "POST", path: "/api/logins", token: null, headers, body: { invitation, nonce } });
const secretIn = ({ json }: TestResponse): string => String(json.secret);

/** A page that is signed in. */
async function signedIn(): Promise<{ id: string; secret: string; login: string }> {
  const { id, invitation } = await invited();
  const secret = secretIn(await press(invitation));
  const { json } = await kit.ask({ path: `/api/logins?person=${id}` });
  return { id, secret, login: (json.items as { id: string }[])[0]?.id ?? "" };
}
const as = (secret: string, path: string, more: object = {}) =>
  kit.ask({
    path,
    token: null,
    ...more,
    headers: { "rookery-login": secret, ...(more as { headers?: object }).headers },
  });

describe("an invitation", () => {
  it("signs a person in once, and looking at it changes nothing", async () => {
    const { id, invitation } = await invited();
    for (let looks = 0; looks < 3; looks++) expect((await look(invitation)).json).toEqual({ person: id, name: id });
    const used = await press(invitation);
    expect([used.status, used.headers["set-cookie"], used.json.person]).toEqual([200, undefined, id]);
    expect((await as(secretIn(used), "/api/people")).json.items).toMatchObject([{ id, role: "guest" }]);
    expect((await look(invitation)).json.error?.code).toBe("invitation_used");
    const rows = await kit.node.ports.store.audit({ limit: 10, person: id });
    expect(rows).toMatchObject([{ action: "login.begin", surface: "invite", target: id }]);
  });

  it("makes no record for a person who has one, and is not for contacts", async () => {
    await kit.ask({ method: "POST", path: "/api/people", body: { id: "known", name: "<b>Ann</b>" } });
    const { invitation } = await invited("known");
    expect((await look(invitation)).json.name).toBe("<b>Ann</b>");
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
    const { id, invitation } = await invited();
    const answers = await Promise.all(Array.from({ length: 6 }, () => press(invitation)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410, 410, 410]);
    const later = await press(invitation);
    expect([later.status, later.json.secret]).toEqual([410, undefined]);
    expect((await kit.ask({ path: `/api/logins?person=${id}` })).json.items).toHaveLength(1);
  });

  it("gives a page that lost the answer the same login again, and another one none", async () => {
    const { id, invitation } = await invited();
    const nonce = freshNonce();
    const first = await press(invitation, nonce);
    const again = await press(invitation, nonce);
    expect([again.status, secretIn(again)]).toEqual([200, secretIn(first)]);
    const [login] = (await kit.ask({ path: `/api/logins?person=${id}` })).json.items as { id: string }[];
    await kit.ask({ method: "DELETE", path: `/api/logins/${login?.id}` });
    expect((await press(invitation, nonce)).status).toBe(410);
  });

  it("ends after 24 hours, and with its person", async () => {
    const { id, invitation } = await invited();
    await kit.ask({ method: "DELETE", path: `/api/people/${id}` });
    expect((await look(invitation)).status).toBe(410);
    const late = await invited();
    const { logins } = kit.gateway.context;
    const { clock } = kit.node.ports as { clock: { now: () => number } };
    const { now } = clock;
    clock.now = () => now() + 24 * 3_600_000 + 1;
    try {
      expect(await logins.invited(late.invitation)).toBeUndefined();
      expect((await press(late.invitation)).status).toBe(410);
    } finally {
      clock.now = now;
    }
  });

  it("cannot be guessed: 256 random bits, and wrong links make their address wait", async () => {
    const { invitation } = await invited();
    const strict = await openTestGateway({ config: { gateway: GATEWAY }, limits: { failuresPerMinute: 3 } });
    try {
      const statuses = [];
      for (const one of [invitation, "x", `${invitation.slice(0, -1)}!`, invitation]) {
        const headers = { "rookery-login": one };
        statuses.push((await strict.ask({ path: "/api/invitation", token: null, headers })).status);
      }
      expect(statuses).toEqual([410, 410, 410, 429]);
    } finally {
      await strict.close();
    }
    // A wrong secret with the right id.
    expect((await look(`${invitation.slice(0, -3)}AAA`)).status).toBe(410);
    expect((await look(invitation)).status).toBe(200);
  });

  it("is stored as a hash, and so is the login", async () => {
    const { invitation } = await invited();
    const secret = secretIn(await press((await invited()).invitation));
    const stored = await kit.node.ports.store.fact("api.logins");
    expect(stored).not.toContain(invitation.slice(-20));
    expect(stored).not.toContain(secret.slice(-20));
  });

  it("is used by pages of this server only", async () => {
    const { invitation } = await invited();
    const foreign = { origin: "https://evil.example" };
    expect((await as(invitation, "/api/invitation", { headers: foreign })).status).toBe(403);
    expect((await press(invitation, freshNonce(), foreign)).status).toBe(403);
    const linked = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect((await as(invitation, "/api/invitation", { headers: linked })).status).toBe(403);
    expect((await look(invitation)).status).toBe(200);
  });

  it("cannot be used as a code, which signs in without asking", async () => {
    const { invitation } = await invited();
    const body = { code: invitation };
    const refused = await kit.ask({ method: "POST", path: "/api/logins", token: null, body });
    expect(refused.json.error?.code).toBe("code_used");
    expect((await look(invitation)).status).toBe(200);
  });
});

describe("a login", () => {
  it("is worth nothing as a cookie, alone or beside the login of another person", async () => {
    const [ann, bob] = [await signedIn(), await signedIn()];
    const cookie = `rookery=${bob.secret}; __Host-rookery=${bob.secret}`;
    const headers = { cookie, origin: own() };
    expect((await kit.ask({ path: "/api/people", token: null, headers })).status).toBe(401);
    expect((await as(ann.secret, "/api/people", { headers })).json.items).toMatchObject([{ id: ann.id }]);
  });

  it("sees the person's own things and nothing else", async () => {
    const { id, secret } = await signedIn();
    const message = { model: "main", messages: [{ role: "user", content: "hello there" }] };
    await kit.ask({ method: "POST", path: "/v1/chat/completions", body: { ...message, user: "bob" } });
    const sent = await as(secret, "/v1/chat/completions", { method: "POST", body: message });
    expect(sent.status, sent.text).toBe(200);
    const { items: agents } = (await as(secret, "/api/agents")).json as { items: { id: string }[] };
    expect(agents).toMatchObject([{ id: sent.headers["x-rookery-agent"] }]);
    expect((await as(secret, "/api/usage")).json.by).toHaveLength(1);
    expect((await as(secret, "/api/people")).json.items).toMatchObject([{ id }]);
    expect((await as(secret, "/api/logins")).json.items).toMatchObject([{ person: id }]);
    expect((await as(secret, "/api/cron")).json).toEqual({ items: [], next: null });
    for (const path of ["/api/audit", "/api/config", "/api/outbox", "/api/tree", "/metrics"]) {
      expect((await as(secret, path)).status, path).toBe(403);
    }
    const other = await signedIn();
    expect((await as(secret, `/api/people/${other.id}`)).status).toBe(404);
    const end = { method: "DELETE" };
    expect((await as(secret, `/api/logins/${other.login}`, end)).status).toBe(404);
    const grant = { method: "POST", body: { subject: "*" } };
    expect((await as(secret, `/api/people/${id}/grants`, grant)).status).toBe(403);
    const invite = { method: "POST", body: {} };
    expect((await as(secret, "/api/people/mallory/invitations", invite)).status).toBe(403);
  });

  it("that ends, or whose person goes, closes its open streams at once", async () => {
    for (const how of ["login", "person"]) {
      const { id, secret, login } = await signedIn();
      const { ended, opened } = stream(secret);
      await opened;
      const path = how === "login" ? `/api/logins/${login}` : `/api/people/${id}`;
      expect((await kit.ask({ method: "DELETE", path })).status).toBe(200);
      await ended;
      expect((await as(secret, "/api/people")).status, how).toBe(401);
    }
  });

  it("lasts as long as the configuration says, also if that changes, and survives a restart", async () => {
    const { secret } = await signedIn();
    kit.config = configSchema.parse({ gateway: { ...GATEWAY, loginDays: 0.000_000_001 } });
    expect((await as(secret, "/api/people")).status).toBe(401);
    kit.config = configSchema.parse({ gateway: GATEWAY });
    const { LoginService } = await import("./auth/login-service.ts");
    const reopened = await LoginService.open({ ports: kit.node.ports, isShared: false, loginMs: () => 1e9 });
    expect(await reopened.find(secret)).toMatchObject({ kind: "person", scopes: ["chat"] });
  });
});

/** An open stream of the mailbox. */
function stream(secret: string): { opened: Promise<void>; ended: Promise<void> } {
  const opened = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const options = {
    host: "127.0.0.1",
    port: kit.gateway.port,
    path: "/api/deliveries/events",
    headers: { "rookery-login": secret },
  };
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

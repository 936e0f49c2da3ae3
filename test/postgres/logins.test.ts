/** Logins of nodes that share a database: one refreshes at a time, and the others get its tokens. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type AuthServer, PLANTED, startAuthServer } from "../../src/adapters/models/logins/auth-server.test-kit.ts";
import { type Login, loginIn, readLogins, writeLogin } from "../../src/adapters/models/logins/login-file.ts";
import { Logins } from "../../src/adapters/models/logins/logins.ts";
import { type SharedLogins, sharedLogins } from "../../src/adapters/models/logins/shared-logins.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import { withClient } from "./server.ts";
import { freshDatabase } from "./shared.ts";

let url: string;
let server: AuthServer;
let homes: string;
const stores: PostgresStore[] = [];

beforeEach(async () => {
  url = await freshDatabase();
  homes = mkdtempSync(join(tmpdir(), "rookery-shared-logins-"));
  server = await startAuthServer();
  vi.stubGlobal("fetch", server.redirected);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  for (const store of stores.splice(0)) await store.close();
  await server.close();
  rmSync(homes, { recursive: true, force: true });
});

interface Node {
  readonly file: string;
  readonly logins: Logins;
  login(): Login | undefined;
}

/** A machine with its own home, and a copy of the login. */
async function node(name: string, login: Login, around: (shared: SharedLogins) => SharedLogins = (same) => same) {
  const store = await openPostgresStore({ url, maxConnections: 3 });
  stores.push(store);
  const file = join(homes, name, "logins.json");
  writeLogin(file, "xai", "default", login);
  const shared = around(sharedLogins({ store, leases: store.leases, clock: systemClock, ids: systemIds() }));
  const logins = new Logins({ file, clock: systemClock, log: silentLog, shared });
  return { file, logins, login: () => loginIn(readLogins(file), "xai", "default") } satisfies Node;
}

async function madeLogin(): Promise<Login> {
  const answer = await server.redirected("https://auth.x.ai/oauth2/token", { method: "POST", body: "grant_type=x" });
  const tokens = (await answer.json()) as { access_token: string; refresh_token: string };
  return {
    ...{ id: "login-1", seal: Buffer.alloc(32, 7).toString("base64"), loggedInAt: 1, renewals: 0 },
    credential: { access: tokens.access_token, refresh: tokens.refresh_token, expires: Date.now() + 60_000 },
    auth: { apiKey: tokens.access_token },
  };
}

test("three nodes with copies of a login refresh it once, and all have the new tokens", async () => {
  const login = await madeLogin();
  const nodes = [await node("a", login), await node("b", login), await node("c", login)];
  const problems = await Promise.all(nodes.map(({ logins }) => logins.refresh("xai")));
  expect(problems.flat()).toEqual([]);
  expect(server.refreshed).toBe(1);
  for (const { login: now } of nodes) expect(now()).toEqual(nodes[0]?.login());
  expect(nodes[0]?.login()?.renewals).toBe(1);
});

test("the database has the tokens only encrypted, with a key that it does not have", async () => {
  const one = await node("a", await madeLogin());
  await one.logins.refresh("xai");
  const rows = await withClient(url, async (client) => (await client.query("SELECT * FROM rookery.facts")).rows);
  const text = JSON.stringify(rows);
  expect(text).toContain("login:login-1");
  for (const secret of [PLANTED, Buffer.from(PLANTED).toString("base64").slice(0, 12), one.login()?.seal ?? ""]) {
    expect(text).not.toContain(secret);
  }
});

test("a node that dies after it handed the tokens over finds them at its next start", async () => {
  const login = await madeLogin();
  const dying = await node("a", login);
  await dying.logins.refresh("xai");
  // What a kill between the two writes leaves: the file as it was.
  writeLogin(dying.file, "xai", "default", login);
  const again = await node("a", login);
  expect(await again.logins.refresh("xai")).toEqual([]);
  expect(server.refreshed).toBe(1);
  expect(again.login()?.renewals).toBe(1);
});

test("a node whose lease broke and whose token was used up takes the tokens of the other one", async () => {
  const login = await madeLogin();
  const one = await node("a", login);
  await one.logins.refresh("xai");
  let looked = 0;
  // It did not see the newer tokens the first time.
  const late = await node("b", login, (shared) => ({
    ...shared,
    newer: async (own) => (looked++ === 0 ? undefined : shared.newer(own)),
  }));
  expect(await late.logins.refresh("xai")).toEqual([]);
  expect(late.login()).toEqual(one.login());
});

test("tokens that the database could not take are used, and handed over later", async () => {
  const login = await madeLogin();
  let away = true;
  const one = await node("a", login, (shared) => ({
    ...shared,
    put: async (next) => {
      if (away) throw new Error("the database is away");
      await shared.put(next);
    },
  }));
  expect(await one.logins.refresh("xai")).toEqual([]);
  expect(one.login()?.renewals).toBe(1);
  away = false;
  vi.spyOn(systemClock, "monotonic").mockImplementation(() => performance.now() + 60_000);
  await one.logins.refresh("xai");
  vi.restoreAllMocks();
  const other = await node("b", login);
  expect(await other.logins.refresh("xai")).toEqual([]);
  expect(server.refreshed).toBe(1);
  expect(other.login()).toEqual(one.login());
});

test("nothing is refreshed while the database is away: another node might do the same", async () => {
  const login = await madeLogin();
  const one = await node("a", login, (shared) => ({
    ...shared,
    hold: async () => {
      throw new Error("the database is away");
    },
  }));
  expect(await one.logins.refresh("xai")).toMatchObject([{ again: false }]);
  expect(server.refreshed).toBe(0);
});

/**
 * The access matrix for cookies: on every route a login decides as a token of the same person does, and without the Origin of this
 * server it changes nothing.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, ROOT_TOKEN, type TestGateway, type TestResponse } from "./gateway.test-kit.ts";
import { ROUTES } from "./route-table.ts";
import type { Route } from "./routing/route.ts";

const PARAMS: Readonly<Record<string, string>> = {
  agent: "a".repeat(24),
  run: "00000000-0000-7000-8000-000000000000",
  delivery: "x.0",
  seq: "1",
  token: "0".repeat(12),
  person: "bob",
  login: "0".repeat(12),
  change: "1",
};
const pathOf = ({ path }: Route): string => path.replace(/:(\w+)/g, (_, name: string) => PARAMS[name] ?? "main");

let kit: TestGateway;
/** What each person presents: a cookie, and a token with the scopes that their logins have. */
const whos: Record<string, { cookie: string; token: string }> = {};
const own = (): string => `http://127.0.0.1:${kit.gateway.port}`;
const cookieOf = ({ headers }: TestResponse): string => (headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";

async function signedIn(): Promise<string> {
  const { json } = await kit.ask({ method: "POST", path: "/api/logins/codes", body: {} });
  const body = { code: new URL(String(json.url)).hash.slice("#code=".length) };
  return cookieOf(
    await kit.ask({ method: "POST", path: "/api/logins", token: null, headers: { origin: own() }, body }),
  );
}

async function invited(person: string): Promise<string> {
  const { json } = await kit.ask({ method: "POST", path: `/api/people/${person}/invitations` });
  const path = new URL(String(json.link)).pathname;
  const nonce = /name="nonce" value="([^"]+)"/.exec((await kit.ask({ path, token: null })).text)?.[1] ?? "";
  const headers = { "content-type": "application/x-www-form-urlencoded", origin: own() };
  return cookieOf(await kit.ask({ method: "POST", path, token: null, headers, body: `nonce=${nonce}` }));
}

beforeAll(async () => {
  kit = await openTestGateway({
    config: {
      people: { records: { ann: {}, bob: {} } },
      gateway: { publicUrl: "http://rookery.test:8080/", limits: { failuresPerMinute: 100_000 } },
    },
  });
  whos.owner = { cookie: await signedIn(), token: ROOT_TOKEN };
  const cookie = await invited("ann");
  const { json } = await kit.ask({ path: "/api/me", token: null, headers: { cookie } });
  const minted = { name: "ann", person: "ann", scopes: json.scopes };
  const { json: made } = await kit.ask({ method: "POST", path: "/api/tokens", body: minted });
  whos.ann = { cookie, token: String(made.token) };
});
afterAll(() => kit.close());

const ASKED = ROUTES.filter(
  ({ access, answers, path }) =>
    access !== "anonymous" &&
    access !== "hook" &&
    answers.type !== "text/event-stream" &&
    path !== "/api/config/reload",
);

describe.each(ASKED.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
  const isRead = route.method === "GET";
  const ask = async (more: object) => {
    const request = { method: route.method, path: pathOf(route), body: isRead ? undefined : {}, ...more };
    const reply = await kit.ask(request);
    return { status: reply.status, code: reply.status < 400 ? undefined : reply.json.error?.code };
  };

  it.each(["owner", "ann"])("decides for the cookie of %s as for a token", async (name) => {
    const { cookie, token } = whos[name] as { cookie: string; token: string };
    const byToken = await ask({ token });
    const byCookie = await ask({ token: null, headers: { cookie, origin: own() } });
    const denied = [401, 403];
    // What the request then does may differ, because the first one has done it.
    expect(denied.includes(byCookie.status), JSON.stringify([byToken, byCookie])).toBe(denied.includes(byToken.status));
    if (denied.includes(byToken.status)) expect(byCookie).toEqual(byToken);
    if (!isRead) {
      for (const origin of [undefined, "null", "https://evil.example"])
        expect((await ask({ token: null, headers: { cookie, ...(origin && { origin }) } })).status, origin).toBe(403);
    }
  });
});

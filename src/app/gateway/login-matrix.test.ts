/** The access matrix for logins: on every route a login decides as a token of the same person does, and as a cookie it is nothing. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
  person: "bob",
  login: "0".repeat(12),
  change: "1",
};
const pathOf = ({ path }: Route): string => path.replace(/:(\w+)/g, (_, name: string) => PARAMS[name] ?? "main");

let kit: TestGateway;
/** What each person presents: the secret of a login, and a token with the scopes that their logins have. */
const whos: Record<string, { login: string; token: string }> = {};
const own = (): string => `http://127.0.0.1:${kit.gateway.port}`;

async function signedIn(): Promise<string> {
  const { json } = await kit.ask({ method: "POST", path: "/api/logins/codes", body: {} });
  return begin({ code: new URL(String(json.url)).hash.slice("#code=".length) });
}

async function invited(person: string): Promise<string> {
  const { json } = await kit.ask({ method: "POST", path: `/api/people/${person}/invitations` });
  return begin({ invitation: new URL(String(json.link)).hash.slice("#invite=".length) });
}

const begin = async (body: object): Promise<string> =>
  String((await kit.ask({ method: "POST", path: "/api/logins", token: null, body })).json.secret);

beforeAll(async () => {
  kit = await openTestGateway({
    limits: { failuresPerMinute: 100_000 },
    config: {
      people: { records: { ann: {}, bob: {} } },
      gateway: { publicUrl: "http://rookery.test:8080/" },
    },
  });
  whos.owner = { login: await signedIn(), token: ROOT_TOKEN };
  const login = await invited("ann");
  const { json } = await kit.ask({ path: "/api/me", token: null, headers: { "rookery-login": login } });
  const minted = { name: "ann", person: "ann", scopes: json.scopes };
  const { json: made } = await kit.ask({ method: "POST", path: "/api/tokens", body: minted });
  whos.ann = { login, token: String(made.token) };
});
afterAll(() => kit.close());

const ASKED = ROUTES.filter(
  (route) =>
    route.access !== "anonymous" && route.access !== "hook" && !isStream(route) && route.path !== "/api/config/reload",
);

describe.each(ASKED.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
  const isRead = route.method === "GET";
  const ask = async (more: object) => {
    const request = { method: route.method, path: pathOf(route), body: isRead ? undefined : {}, ...more };
    const reply = await kit.ask(request);
    return { status: reply.status, code: reply.status < 400 ? undefined : reply.json.error?.code };
  };

  it.each(["owner", "ann"])(
    "decides for a login of %s as for a token, and for its secret as a cookie as for nobody",
    async (name) => {
      const { login, token } = whos[name] as { login: string; token: string };
      const byToken = await ask({ token });
      const byLogin = await ask({ token: null, headers: { "rookery-login": login } });
      const denied = [401, 403];
      // What the request then does may differ, because the first one has done it.
      expect(denied.includes(byLogin.status), JSON.stringify([byToken, byLogin])).toBe(denied.includes(byToken.status));
      if (denied.includes(byToken.status)) expect(byLogin).toEqual(byToken);
      const cookie = ["rookery", "__Host-rookery", "rookery-login"].map((key) => `${key}=${login}`).join("; ");
      expect(
        (await ask({ token: null, headers: { cookie, origin: own(), "sec-fetch-site": "same-origin" } })).status,
      ).toBe(401);
    },
  );
});

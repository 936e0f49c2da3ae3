/** A token of a person or an application sees what belongs to it, on every route of the table, and nothing else (L13). */
import { get } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, ROOT_TOKEN, type TestGateway } from "./gateway.test-kit.ts";
import { ROUTES } from "./route-table.ts";
import { isStream } from "./routing/output.ts";
import type { Route } from "./routing/route.ts";

interface Conversation {
  readonly whose: string;
  readonly token: string;
  readonly user?: string;
  agentId: string;
  runId: string;
  key: string;
  /** An application's users make jobs through their agents only. */
  job: string;
  file: string;
}

/** A word that only this conversation contains. */
const secretOf = ({ whose }: Conversation): string => `secret-of-${whose.replaceAll(" ", "-")}.`;

const payload = { kind: "agentTurn", message: "Work." };

let kit: TestGateway;
const people: Conversation[] = [];

beforeAll(async () => {
  kit = await openTestGateway({ config: { people: { records: { ann: {}, eve: {} } } } });
  const mint = async (more: object): Promise<string> => {
    const body = { name: "t", scopes: ["chat"], ...more };
    const { status, json, text } = await kit.ask({ method: "POST", path: "/api/tokens", body });
    expect(status, text).toBe(201);
    return json.token as string;
  };
  const blank = { agentId: "", runId: "", key: "", job: "", file: "" };
  people.push(
    { whose: "the owner", token: ROOT_TOKEN, ...blank },
    { whose: "ann", token: await mint({ person: "ann" }), ...blank },
    { whose: "eve", token: await mint({ person: "eve" }), ...blank },
    { whose: "ann of shop", token: await mint({ app: "shop" }), user: "ann", ...blank },
    { whose: "ann of bank", token: await mint({ app: "bank", scopes: ["chat", "read"] }), user: "ann", ...blank },
  );
  for (const one of people) {
    const messages = [{ role: "user", content: secretOf(one) }];
    const { status, headers, text } = await kit.ask({
      method: "POST",
      path: "/v1/chat/completions",
      token: one.token,
      body: { model: "main", user: one.user, messages },
    });
    expect(status, text).toBe(200);
    one.agentId = String(headers["x-rookery-agent"]);
    one.runId = String(headers["x-rookery-run"]);
    one.key = String((await kit.ask({ path: `/api/agents/${one.agentId}` })).json.sessionKey);
    const job = { name: secretOf(one), schedule: { kind: "every", everyMs: 9e9 }, payload };
    const added = await kit.ask({ method: "POST", path: "/api/cron", token: one.token, body: job });
    expect(added.status, added.text).toBe(one.user === undefined ? 201 : 409);
    one.job = String(added.json.id ?? "");
    const whose = one.user === undefined ? "" : `?user=${one.user}`;
    const upload = { method: "POST", path: `/api/files${whose}`, token: one.token, body: secretOf(one) };
    one.file = String((await kit.ask(upload)).json.id);
  }
});
afterAll(() => kit.close());

const idsIn = ({ agentId, runId, key, job, file }: Conversation): Readonly<Record<string, readonly string[]>> => ({
  agent: [agentId, key],
  run: [runId],
  key: [key],
  model: [agentId, key],
  delivery: [`${runId}.0`],
  seq: ["1"],
  job: job === "" ? ["j"] : [job],
  file: [file],
  nametag: ["n"],
  token: ["0".repeat(12)],
});

/** The paths of a route that name a conversation, or its one path if it names none. */
function pathsOf({ path }: Route, one: Conversation): readonly string[] {
  let paths = [path.endsWith("/search") ? `${path}?q=secret` : path];
  for (const [name, values] of Object.entries(idsIn(one))) {
    const word = new RegExp(`:${name}(?![a-z])`);
    paths = paths.flatMap((each) =>
      word.test(each) ? values.map((value) => each.replace(word, encodeURIComponent(value))) : [each],
    );
  }
  return paths.map((each) => each + (QUERIES[path] ?? ""));
}

/** Of routes that need one. */
const QUERIES: Readonly<Record<string, string>> = { "/api/agents/:agent/search": "?q=secret" };

const bodyFor = ({ path, method }: Route, one: Conversation, as: Conversation): object | undefined => {
  if (method === "GET") return undefined;
  if (path === "/v1/chat/completions")
    return { model: one.agentId, user: as.user, messages: [{ role: "user", content: "hi" }] };
  if (path === "/v1/responses") return { model: one.key, user: as.user, input: "hi" };
  if (path === SEND) return { text: "hi" };
  if (path === "/api/deliveries/ack") return { ids: ["x"], user: as.user };
  return {};
};

const SEND = "/api/agents/:agent/messages";

/** A person, and an application that also has the scope read. */
const ASKING = ["eve", "ann of bank"];

const CLOSED = ROUTES.filter(({ access }) => access !== "anonymous" && access !== "hook");

describe("the stream of all agents", () => {
  const ask = (one: Conversation) =>
    kit.ask({
      method: "POST",
      path: "/v1/chat/completions",
      token: one.token,
      body: { model: "main", user: one.user, messages: [{ role: "user", content: "again" }] },
    });

  /** What the token reads until the run of its own agent ends. */
  const followed = async (as: Conversation): Promise<string> => {
    let text = "";
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const headers = { authorization: `Bearer ${as.token}` };
    const request = get({ host: "127.0.0.1", port: kit.gateway.port, path: "/api/events", headers }, (response) => {
      response.setEncoding("utf8");
      response.on("error", () => {});
      response.on("data", (piece: string) => {
        if (text === "") void Promise.all(people.filter((one) => one !== as).map(ask)).then(() => ask(as), reject);
        text += piece;
        if (/"type":"end"/u.test(text) && /"type":"changed"/u.test(text)) resolve();
      });
    });
    await promise.finally(() => request.destroy());
    return text;
  };

  it("tells a person and an application about their own agents only", async () => {
    for (const as of people.slice(1)) {
      const text = await followed(as);
      expect(text, as.whose).toMatch(/event: tree[\s\S]*event: start[\s\S]*event: end/u);
      expect(text, as.whose).toContain(as.agentId);
      for (const other of people) {
        if (other === as) continue;
        for (const secret of [other.agentId, other.key])
          expect(text, `${as.whose} hears ${other.whose}`).not.toContain(secret);
      }
    }
  });

  it("tells the owner about all", async () => {
    const [owner] = people;
    if (!owner) throw new Error("no owner");
    const text = await followed(owner);
    for (const { agentId } of people) expect(text).toContain(agentId);
  });
});

describe.each(CLOSED.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
  const names =
    /:(agent|run|key|model|job|file)/.test(route.path) || (route.method === "POST" && route.path.startsWith("/v1/"));

  it("tells a person and an application nothing about anyone else", async () => {
    for (const as of people.filter(({ whose }) => ASKING.includes(whose))) {
      for (const other of people) {
        if (other === as || (isStream(route) && !names)) continue;
        for (const path of pathsOf(route, other)) {
          // To an application the key of another's user is that of its own user of that name, whose conversation begins.
          if (route.path === SEND && as.user !== undefined && !path.includes(other.agentId)) continue;
          const { method } = route;
          const { status, text } = await kit.ask({ method, path, token: as.token, body: bodyFor(route, other, as) });
          const what = `${as.whose} asks about ${other.whose}: ${path} → ${status} ${text.slice(0, 200)}`;
          if (names) expect([403, 404], what).toContain(status);
          expect(status, what).toBeLessThan(500);
          for (const secret of [secretOf(other), other.agentId, other.runId, other.key, other.job, other.file].filter(
            Boolean,
          )) {
            if (!path.includes(encodeURIComponent(secret))) expect(text, what).not.toContain(secret);
          }
        }
      }
    }
  });

  if (!route.own || isStream(route) || route.method !== "GET") return;
  // None of these deliveries has a file; `src/app/library/files.test.ts` reads one.
  if (route.path === "/api/deliveries/:delivery/files/:file") return;

  it("answers a person and an application about their own", async () => {
    for (const as of people.slice(1)) {
      if (as.job === "" && route.path.includes(":job")) continue;
      // An application says which of its users sits at the terminal.
      const named = route.path === "/api/terminal" && as.user !== undefined ? `?user=${as.user}` : "";
      for (const path of pathsOf(route, as)) {
        const { status, text } = await kit.ask({ path: path + named, token: as.token });
        expect(status, `${as.whose}: ${path} → ${text.slice(0, 200)}`).toBe(200);
      }
    }
  });
});

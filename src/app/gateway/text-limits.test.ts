import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";
import { ROUTES } from "./route-table.ts";
import type { Route } from "./routing/route.ts";

const MAX = 500_000;
const BODY_BYTES = 1_100_000;
const LONG = "x".repeat(MAX + 1);
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

let kit: TestGateway;
let agent: string;
beforeAll(async () => {
  kit = await openTestGateway({
    config: {
      gateway: { limits: { bodyBytes: BODY_BYTES } },
      files: { maxBytes: 1_500_000 },
      hooks: { main: { token: "hook-token", prompt: "{{text}}" } },
    },
  });
  const body = { model: "main", user: "ann", messages: [{ role: "user", content: "hi" }] };
  expect((await kit.ask({ method: "POST", path: "/v1/chat/completions", body })).status).toBe(200);
  agent = encodeURIComponent("agent:main:api:dm:ann");
});
afterAll(() => kit.close());

/** A body whose text is too long, for every route that takes a text. */
const LONG_BODIES: Readonly<Record<string, object>> = {
  "POST /v1/chat/completions": { model: "main", user: "ann", messages: [{ role: "user", content: LONG }] },
  "POST /v1/responses": { model: "main", user: "ann", input: LONG },
  "POST /api/chat": { id: "ann", messages: [{ id: "m", role: "user", parts: [{ type: "text", text: LONG }] }] },
  "POST /api/agents/:agent/messages": { text: LONG },
  "POST /api/agents/:agent/compact": { instructions: LONG },
  "POST /api/agents/:agent/branch": { entryId: "e", summary: LONG },
  "PATCH /api/agents/:agent/state": { label: LONG },
  "POST /api/subagents/:run/messages": { text: LONG },
  "POST /api/terminal/messages": { user: "owner", text: LONG },
  "POST /api/runs/:run/steer": { text: LONG },
  "POST /api/wake": { text: LONG },
  "POST /api/cron": {
    name: "n",
    schedule: { kind: "every", everyMs: 1_000 },
    payload: { kind: "systemEvent", text: LONG },
  },
  "PATCH /api/cron/:job": { payload: { text: LONG } },
  "POST /hooks/:hook": { text: LONG },
};
/** A person writes these: what is too long for a message becomes its file. */
const AS_FILE = [
  "POST /v1/chat/completions",
  "POST /v1/responses",
  "POST /api/chat",
  "POST /api/agents/:agent/messages",
  "POST /api/terminal/messages",
];
type Sent = { body: { text: string; files?: { id: string; name: string }[] } };
/** These accept a message without a text. */
const WITHOUT_TEXT = ["POST /api/agents/:agent/reset", "POST /api/agents/:agent/stop"];

const pathOf = ({ path }: Route): string =>
  path.replace(":agent", agent).replace(/:run/, "00000000-0000-7000-8000-000000000000").replace(/:\w+/g, "main");
const writing = ROUTES.filter(({ method }) => method !== "GET");

describe("a text that is too long", () => {
  it("has a case for every route that accepts a message", () => {
    const accepting = ROUTES.filter(({ accepts }) => accepts).map(nameOf);
    expect(accepting.length).toBeGreaterThan(7);
    expect(accepting.filter((name) => !LONG_BODIES[name] && !WITHOUT_TEXT.includes(name))).toEqual([]);
  });

  it.each(Object.keys(LONG_BODIES).filter((name) => !AS_FILE.includes(name)))(
    "is answered 413 with the limit and a hint: %s",
    async (name) => {
      const route = ROUTES.find((one) => nameOf(one) === name) as Route;
      const { status, json } = await kit.ask({
        method: route.method,
        path: pathOf(route),
        token: route.access === "hook" ? "hook-token" : undefined,
        body: LONG_BODIES[name],
      });
      expect(status).toBe(413);
      expect(json.error?.code).toBe(route.access === "hook" ? "hook_refused" : "too_large");
      // A hook takes less than a message may have.
      if (route.access === "hook") return;
      expect(json.error?.message).toContain(`at most ${MAX} are accepted`);
      expect(json.error?.message).toContain("Send it in parts");
    },
  );

  it.each(AS_FILE)("of a person becomes a file of the message, and nothing of it is cut: %s", async (name) => {
    const [method = "", path = ""] = name.split(" ");
    const whole = `${name} ${"é".repeat(MAX)} the end`;
    const body = JSON.parse(JSON.stringify(LONG_BODIES[name]).replace(LONG, whole)) as object;
    const { status, text } = await kit.ask({ method, path: path.replace(":agent", agent), body });
    expect([200, 202], text).toContain(status);
    const whose = path.startsWith("/api/terminal") ? "main" : agent;
    const { items } = (await kit.ask({ path: `/api/agents/${whose}/messages?limit=1` })).json as { items: Sent[] };
    const [{ text: shown, files = [] } = { text: "" }] = items.map((item) => item.body);
    expect(shown).toContain("All of it is in message.txt.]");
    expect(shown.length).toBeLessThan(1_200);
    const { id = "", name: called } = files.at(-1) ?? {};
    expect(called).toBe("message.txt");
    expect((await kit.ask({ path: `/api/files/${id}/content` })).text).toBe(whole);
  });

  it("is a message with exactly the limit", async () => {
    const path = `/api/agents/${agent}/messages`;
    expect((await kit.ask({ method: "POST", path, body: { text: "x".repeat(MAX) } })).status).toBe(202);
    const { items } = (await kit.ask({ path: `${path}?limit=1` })).json as { items: Sent[] };
    expect(items[0]?.body).toMatchObject({ text: "x".repeat(MAX) });
    expect(items[0]?.body.files).toBeUndefined();
  });

  it("is refused if it is longer than any text that is read, or if the rest of the message is too long", async () => {
    const post = (path: string, body: object) => kit.ask({ method: "POST", path, body });
    const messages = [{ role: "user", content: "x".repeat(1_000_001) }];
    const longest = await post("/v1/chat/completions", { model: "main", user: "ann", messages });
    expect([longest.status, longest.json.error?.code]).toEqual([413, "too_large"]);
    const system = [
      { role: "system", content: LONG },
      { role: "user", content: "hi" },
    ];
    const rest = await post("/v1/chat/completions", { model: "main", user: "ann", messages: system });
    expect([rest.status, rest.json.error?.code]).toEqual([413, "too_large"]);
  });

  it("is refused for a cron job by the limit of jobs, if that is lower", async () => {
    const payload = { kind: "systemEvent", text: "x".repeat(150_000) };
    const body = { name: "n", schedule: { kind: "every", everyMs: 1_000 }, payload };
    const { status, json } = await kit.ask({ method: "POST", path: "/api/cron", body });
    expect([status, json.error?.code]).toEqual([413, "too_large"]);
  });
});

describe("a body that is too large", () => {
  it.each(writing.map((route) => [nameOf(route), route] as const))("is answered 413: %s", async (_, route) => {
    // Routes that take files take more.
    const limit = route.maxBody?.(kit.config) ?? BODY_BYTES;
    const { status, json } = await kit.ask({
      method: route.method,
      path: pathOf(route),
      token: route.access === "hook" ? "hook-token" : undefined,
      body: { text: "x".repeat(limit) },
    });
    expect([status, json.error?.code]).toEqual([413, "body_too_large"]);
    expect(json.error?.message).toContain(String(limit));
  });
});

describe("a body that is nested very deep", () => {
  it("is refused before it is parsed, and brackets in texts do not count", async () => {
    const path = `/api/agents/${agent}/messages`;
    const post = (body: string) => kit.ask({ method: "POST", path, body });
    const deep = await post(`{"text":"x","queue":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
    expect([deep.status, deep.json.error?.code]).toEqual([400, "bad_json"]);
    expect(deep.json.error?.message).toContain("1000 levels");
    const text = `{"text":"hi \\"${"[".repeat(100_000)}"}`;
    expect((await post(text)).status).toBe(202);
  });
});

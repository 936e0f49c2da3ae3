/** Every list over HTTP is `{ items, next }`: all routes are asked, and no other answer is an array or has one beside `items`. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";
import { ROUTES } from "./route-table.ts";
import { isList, isSchema, outputsByStatus } from "./routing/output.ts";

/** Answers that hold arrays and are not lists, and why. */
const NOT_A_LIST: Readonly<Record<string, string>> = {
  "GET /v1/models": "the shape of the OpenAI API",
  "GET /api/terminal": "one conversation, with the accounts at providers beside it",
  "GET /api/tree": "a tree: roots with children",
  "GET /api/agents/:agent/inbox": "the run, what waits and what was dropped",
  "GET /api/swarms/:nametag": "one swarm, with its contacts",
  "GET /api/usage/days": "sums by day, with the agents and models they are made of",
  "GET /api/me": "who asks, with scopes",
  "GET /api/runs/:run/timeline": "one run in all its parts",
  "GET /api/agents/:agent/transcript": "one file, with the lines that it leaves out",
  "GET /api/usage": "sums, and what they are made of",
  "GET /api/config": "the configuration",
  "GET /api/health": "the state of the node",
  "GET /api/status": "the state of the engine, on one screen",
  "GET /api/diagnosis": "the state of the node",
  "GET /api/terminal/messages/:agent/:seq": "how one message ended, with its replies",
  "GET /openapi.json": "the OpenAPI document",
};

const ASKED = ROUTES.filter(
  ({ method, output }) => method === "GET" && outputsByStatus(output)[0]?.contents.some(isSchema),
);

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway();
  const body = { model: "main", user: "ann", messages: [{ role: "user", content: "hello" }] };
  for (const _ of [1, 2, 3]) await kit.ask({ method: "POST", path: "/v1/chat/completions", body });
});
afterAll(() => kit.close());

const pathOf = (path: string): string =>
  path.replace(/:(\w+)/g, (_, name: string) => (name === "agent" ? "agent:main:api:dm:ann" : "1"));

describe("every answer", () => {
  it.each(ASKED)("of $method $path", async ({ method, path, output }) => {
    const { status, json } = await kit.ask({ path: pathOf(path) });
    if (isList(output)) {
      if (status !== 200) return expect([404, 400]).toContain(status);
      expect(Object.keys(json).sort()).toEqual(["items", "next"]);
      expect(json.items).toBeInstanceOf(Array);
      return;
    }
    if (Array.isArray(json?.items) && "next" in json) return;
    const arrays = Object.entries(json ?? {}).filter(([, value]) => Array.isArray(value));
    if (!NOT_A_LIST[`${method} ${path}`]) expect(arrays, "a list that is not { items, next }").toEqual([]);
  });
});

describe("a list of several pages", () => {
  it.each([
    ["/api/agents/agent:main:api:dm:ann/messages", "before", 3],
    ["/api/agents/agent:main:api:dm:ann/runs", "before", 3],
    ["/api/agents/agent:main:api:dm:ann/history", "before", 8],
  ] as const)("%s is read whole by its `next`", async (path, cursor, total) => {
    const seen: unknown[] = [];
    for (let next: unknown = ""; next !== null; ) {
      const { json } = await kit.ask({ path: `${path}?limit=2${next === "" ? "" : `&${cursor}=${next}`}` });
      expect(json.error).toBeUndefined();
      seen.push(...(json.items as unknown[]));
      next = json.next;
    }
    expect(seen).toHaveLength(total);
    expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(total);
  });

  it("jobs that are off do not end the list early", async () => {
    const job = { schedule: { kind: "every", everyMs: 60_000 }, payload: { kind: "agentTurn", message: "x" } };
    for (let n = 0; n < 6; n++) {
      await kit.ask({ method: "POST", path: "/api/cron", body: { ...job, name: `${n}`, enabled: n % 2 === 0 } });
    }
    const seen: string[] = [];
    for (let after: unknown = ""; after !== null; ) {
      const { json } = await kit.ask({ path: `/api/cron?limit=1&after=${after}` });
      seen.push(...(json.items as { name: string }[]).map(({ name }) => name));
      after = json.next;
    }
    expect(seen.sort()).toEqual(["0", "2", "4"]);
  });
});

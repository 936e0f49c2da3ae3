/** Tokens that try to get around their limits, over HTTP. The model charges 1,000 tokens and a cent for every call. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { configSchema } from "../../config/config-schema.ts";
import type { CallPrice, Model } from "../../core/ports/model.ts";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";

const CALL = 1_000;
const usage = {
  ...{ input: 500, output: 500, cacheRead: 0, cacheWrite: 0, totalTokens: CALL },
  cost: { input: 0.005, output: 0.005, cacheRead: 0, cacheWrite: 0, total: 0.01 },
};
/** So that a call reserves about what it costs. */
const price: CallPrice = {
  ...{ contextWindow: 500, maxTokens: 500, leastTokens: 500 },
  cost: { input: 10, output: 10, cacheRead: 0, cacheWrite: 0 },
};
const model: Model = {
  call: async () => ({
    ...{ content: [{ type: "text", text: "ok" }], stopReason: "stop", api: "a", provider: "p", model: "m" },
    usage,
  }),
  price: async () => price,
};

/** Far from UTC, so that most of the time it has another day. */
const ZONE = "Pacific/Kiritimati";
const session = { timeZone: ZONE };

let kit: TestGateway;
beforeAll(async () => {
  kit = await openTestGateway({ model, config: { session } });
});
afterAll(() => kit.close());

const configure = (limits: object = {}): void => {
  kit.config = configSchema.parse({ session, gateway: { limits } });
};
const mint = async (body: object, token?: string): Promise<{ token: string; id: string }> => {
  const asked = { method: "POST", path: "/api/tokens", token, body: { name: "t", scopes: ["chat"], ...body } };
  const { json, status, text } = await kit.ask(asked);
  expect(status, text).toBe(201);
  return { token: json.token as string, id: (json.record as { id: string }).id };
};
let asked = 0;
const chat = (token: string, more: { user?: string; text?: string; key?: string } = {}) => {
  const { user = "u", text = `text ${asked++}`, key } = more;
  const headers = key === undefined ? undefined : { "idempotency-key": key };
  const body = { model: "main", user, messages: [{ role: "user", content: text }] };
  return kit.ask({ method: "POST", path: "/v1/chat/completions", token, headers, body });
};
const statuses = async (tries: readonly Promise<{ status: number }>[]) =>
  (await Promise.all(tries)).map(({ status }) => status).sort();
const spentOf = async (id: string): Promise<number> => {
  const { items: budgets } = (await kit.ask({ path: "/api/budgets" })).json as {
    items: { key: string; spent: { tokens: number } }[];
  };
  return budgets.find(({ key }) => key.startsWith("token:") && key.endsWith(`:${id}`))?.spent.tokens ?? 0;
};

describe("a token with limits", () => {
  it("cannot spend through tokens that it mints when it is used up, whatever limits they ask for", async () => {
    configure();
    const parent = await mint({ limits: { tokensPerDay: 2 * CALL } });
    expect((await chat(parent.token)).status).toBe(200);
    expect((await chat(parent.token)).status).toBe(200);
    const refused = await chat(parent.token);
    expect([refused.status, refused.json.error?.code]).toEqual([429, "insufficient_quota"]);
    expect(refused.json.error?.message).toMatch(
      /The budget of the token \w+ for today is used up: 2,000 of 2,000 tokens\. The owner can lift it: rookery usage lift token:[\d-]+:\w+ --tokens N/,
    );
    const child = await mint({ limits: { tokensPerDay: 1e9, dollarsPerDay: 1e6 } }, parent.token);
    const grandchild = await mint({}, child.token);
    for (const { token } of [child, grandchild]) expect((await chat(token, { user: "other" })).status).toBe(429);
    expect(await spentOf(parent.id)).toBe(2 * CALL);
  });

  it("shares its limit with everything below it, also if all of them ask at once", async () => {
    configure();
    const parent = await mint({ limits: { tokensPerDay: 5 * CALL } });
    const children = await Promise.all([1, 2, 3].map(() => mint({}, parent.token)));
    const below = await mint({}, children[0]?.token);
    const tokens = [parent, ...children, below].map(({ token }) => token);
    const all = tokens.flatMap((token, n) => [1, 2, 3].map((k) => chat(token, { user: `u${n}.${k}` })));
    expect(await statuses(all)).toEqual([...Array(5).fill(200), ...Array(10).fill(429)]);
    expect(await spentOf(parent.id)).toBe(5 * CALL);
  });

  it("has its children's rate at most, also if it has only the configured one", async () => {
    configure({ perToken: { requestsPerMinute: 3 } });
    const parent = await mint({});
    const child = await mint({ limits: { requestsPerMinute: 100_000 } }, parent.token);
    const other = await mint({ limits: { requestsPerMinute: 100_000 } }, parent.token);
    const tried = await statuses([1, 2, 3, 4, 5, 6].map((n) => chat(n % 2 ? child.token : other.token)));
    expect(tried).toEqual([200, 200, 200, 429, 429, 429]);
  });

  it("is not charged again for a request that is repeated, with a key or without", async () => {
    configure();
    const { token, id } = await mint({ limits: { tokensPerDay: 10 * CALL, requestsPerMinute: 2, messagesPerDay: 2 } });
    for (let n = 0; n < 5; n++) expect((await chat(token, { text: "once", key: "k" })).status).toBe(200);
    expect(await spentOf(id)).toBe(CALL);
    expect((await chat(token)).status).toBe(200);
    expect((await chat(token)).status).toBe(429);
    expect((await chat(token, { text: "once", key: "k" })).status).toBe(200);
    expect(await spentOf(id)).toBe(2 * CALL);
  });

  it("is charged on every route that accepts a message, once", async () => {
    configure();
    const { token, id } = await mint({ scopes: ["operate"], limits: { tokensPerDay: 100 * CALL, messagesPerDay: 3 } });
    const first = await chat(token);
    const agent = String(first.headers["x-rookery-agent"]);
    const path = `/api/agents/${agent}/messages`;
    const send = () => kit.ask({ method: "POST", path, token, body: { text: `m ${asked++}`, waitSeconds: 20 } });
    expect((await send()).status).toBe(200);
    expect(await spentOf(id)).toBe(2 * CALL);
    const input = { model: "main", user: "v", input: "hi" };
    expect((await kit.ask({ method: "POST", path: "/v1/responses", token, body: input })).status).toBe(200);
    expect(await spentOf(id)).toBe(3 * CALL);
    expect((await send()).status).toBe(429);
  });

  it("has as many messages answered as it may send, however many are sent at once", async () => {
    configure({ perPerson: { messagesPerDay: 2 } });
    const { token } = await mint({});
    const tries = [1, 2, 3, 4, 5, 6].map((n) => chat(token, { user: n % 2 ? "ann" : "bob" }));
    expect(await statuses(tries)).toEqual([200, 200, 200, 200, 429, 429]);
  });

  it("can go on when the owner lifts its limit", async () => {
    configure();
    const { token, id } = await mint({ limits: { dollarsPerDay: 0.01 } });
    expect((await chat(token)).status).toBe(200);
    const { json } = await chat(token);
    const key = /lift (token:\S+) --dollars N/.exec(json.error?.message ?? "")?.[1] ?? "";
    const lift = { method: "POST", path: `/api/budgets/${encodeURIComponent(key)}/lift`, body: { dollars: 0.01 } };
    expect((await kit.ask({ ...lift, token })).status).toBe(403);
    expect((await kit.ask(lift)).status).toBe(200);
    expect((await chat(token)).status).toBe(200);
    expect(await spentOf(id)).toBe(2 * CALL);
  });

  it("begins a new day at midnight in the zone of the installation", async () => {
    configure();
    const { token } = await mint({ limits: { tokensPerDay: CALL } });
    expect((await chat(token)).status).toBe(200);
    const there = new Intl.DateTimeFormat("en-CA", { timeZone: ZONE }).format(new Date());
    expect((await chat(token)).json.error?.message).toContain(`token:${there}:`);
  });
});

/** Requests that are repeated after their response was cut and the process was killed: real processes, real sockets (M18). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { askHttp, type TestResponse } from "../../src/app/gateway/gateway.test-kit.ts";
import { type CuttingProxy, cuttingProxy } from "./cutting-proxy.ts";
import {
  agentOfUser,
  api,
  type FakeModel,
  fakeModel,
  openaiClient,
  type Served,
  serve,
  TOKEN,
  userMessage,
} from "./serving.ts";

let model: FakeModel;
let served: Served;
let proxy: CuttingProxy;
beforeAll(async () => {
  model = await fakeModel();
  const more = { hooks: { deploy: { token: "open", prompt: "{{who}} pushed" } } };
  served = await serve(model, { gateway: { limits: { perToken: { tokensPerDay: 1_000_000 } } }, more });
  proxy = await cuttingProxy(served.port);
});
afterAll(async () => {
  await proxy.close();
  await served.stop();
  await model.close();
});

const post = (
  port: number,
  path: string,
  body: object,
  key: string,
  token: string | null = TOKEN,
): Promise<TestResponse> =>
  askHttp(port, {
    method: "POST",
    path,
    token,
    body,
    headers: { "idempotency-key": key, ...(token === null ? { authorization: "Bearer open" } : undefined) },
  });
const chatBody = (user: string, content: string) => ({ model: "main", user, messages: userMessage(content) });
/** How often a text was accepted, by any agent. A run that a kill interrupts may ask the model twice; its message is one. */
async function accepted(text: string): Promise<number> {
  const { items: agents } = (await api(served, "/api/agents?limit=500")) as { items: { id: string }[] };
  const lists = await Promise.all(agents.map(({ id }) => api(served, `/api/agents/${id}/messages?limit=500`)));
  const texts = lists.flatMap((list) => (list as { items: { body: { text?: string } }[] }).items);
  return texts.filter(({ body }) => body.text?.includes(text)).length;
}

const sayingOther = (body: object): object =>
  JSON.parse(JSON.stringify(body).replace(/"(?:first|second)"/, '"other"')) as object;

it("requests with keys take effect once if each response is cut and the process is killed", async () => {
  await openaiClient(served.port).chat.completions.create(chatBody("ann", "hello"));
  const { id } = await agentOfUser(served, "ann");
  const job = { name: "mail", schedule: { kind: "every", everyMs: 3_600_000 }, payload: { message: "look" } };
  const requests: readonly (readonly [path: string, body: object, token?: null])[] = [
    ["/v1/chat/completions", chatBody("bob", "first")],
    ["/v1/responses", { model: "main", user: "cid", input: "second" }],
    [`/api/agents/${id}/messages`, { text: "third" }],
    [`/api/agents/${id}/compact`, {}],
    [`/api/agents/${id}/reset`, {}],
    [`/api/agents/${id}/start`, {}],
    ["/api/cron", job],
    ["/api/wake", { text: "fourth", mode: "now" }],
    ["/api/budgets/day:2026-01-05/lift", { tokens: 7 }],
    ["/api/tokens", { name: "app", scopes: ["chat"] }],
    ["/hooks/deploy", { who: "fifth" }, null],
  ];
  for (const [n, [path, body, token]] of requests.entries()) {
    proxy.cut = 1;
    await expect(post(proxy.port, path, body, `key-${n}`, token)).rejects.toThrow();
    expect(proxy.cut, path).toBe(0);
  }
  served = await served.crash();
  for (const [n, [path, body, token]] of requests.entries()) {
    const once = await post(served.port, path, body, `key-${n}`, token);
    const again = await post(served.port, path, body, `key-${n}`, token);
    expect(once.status, once.text).toBeLessThan(path === "/api/tokens" ? 410 : 300);
    expect([again.status, again.text]).toEqual([once.status, once.text]);
    expect([once.headers["idempotent-replayed"], path]).toEqual(["true", path]);
    // Another user is another recipient, so the requests to the OpenAI routes say something else.
    const other = path.startsWith("/v1/") ? sayingOther(body) : { ...body, user: "other" };
    expect((await post(served.port, path, other, `key-${n}`, token)).status, path).toSatisfy(
      (status: number) => status === 422 || status === 400,
    );
  }
  const texts = ["first", "second", "third", "fourth", "fifth"];
  expect(await Promise.all(texts.map(accepted))).toEqual([1, 1, 1, 1, 1]);
  const { items: jobs } = (await api(served, "/api/cron")) as { items: unknown[] };
  const { items: tokens } = (await api(served, "/api/tokens")) as { items: unknown[] };
  const { items: budgets } = (await api(served, "/api/budgets")) as {
    items: { key: string; lifted: { tokens: number } }[];
  };
  const { items: messages } = (await api(served, `/api/agents/${id}/messages`)) as {
    items: { body: { kind: string } }[];
  };
  expect([jobs.length, tokens.length, budgets.find(({ key }) => key === "day:2026-01-05")?.lifted.tokens]).toEqual([
    1, 1, 7,
  ]);
  expect(messages.map(({ body }) => body.kind).sort()).toEqual(["compact", "reset", "user", "user"]);
});

it("one run is charged once for three requests with the same key, also across a kill", async () => {
  const token = (
    await askHttp(served.port, {
      method: "POST",
      path: "/api/tokens",
      token: TOKEN,
      body: { name: "limited", scopes: ["chat", "operate"], limits: { messagesPerDay: 3 } },
    })
  ).json.token as string;
  const ask = (n: number, key = "same") =>
    post(served.port, "/v1/chat/completions", chatBody("dan", `spend ${n}`), key, token);
  const answers = [await ask(1), await ask(1)];
  served = await served.crash();
  answers.push(await ask(1));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await ask(2, "two")).status).toBe(200);
  const { id } = await agentOfUser(served, "dan");
  const message = (text: string) =>
    post(served.port, `/api/agents/${id}/messages`, { text, waitSeconds: 60 }, text, token);
  // The route of messages counts too: 3 of 3.
  expect((await message("three")).status).toBe(200);
  expect((await message("four")).status).toBe(429);
  // What was accepted still gets its answer.
  expect((await ask(1)).text).toBe(answers[0]?.text);
});

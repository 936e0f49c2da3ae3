/**
 * Load at the ways in that programs use (M18a): every message that is acknowledged gets an answer of its own, and a message beyond the
 * limit is refused before it is stored. Counts answers, not settled messages.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, modelResult } from "../../../test/kit/model.ts";
import { FakeProgram } from "../../../test/webhook/fake-program.ts";
import { exactPart } from "../../core/agent/session-key.ts";
import { QueueFullError } from "../../core/errors.ts";
import type { Model } from "../../core/ports/model.ts";
import { createRookery, type Rookery } from "./create-rookery.ts";

const BURST = 50;
const MAX_WAITING = 3;
const SECRET = "secret-of-the-test";

/** Answers nothing until a test opens the gate. */
let slow = gate();
const model: Model = {
  async call(request) {
    await slow.promise;
    return modelResult(`answer to ${lastText(request)}`);
  },
};

let rookery: Rookery;
let token: string;
const program = new FakeProgram();
beforeAll(() => program.start());
afterAll(() => program.close());

const open = async (config: object): Promise<void> => {
  const hooks = { deploy: { token: SECRET, prompt: "{{body.said}}" } };
  const shop = { kind: "webhook", sendUrl: program.url, webhook: { secret: program.secret } };
  const more = { hooks, connectors: { shop }, people: { unknown: "guest" } };
  program.shown.clear();
  rookery = await createRookery({ home: "memory", model, config: { ...more, ...config } });
  await rookery.fetch(new Request("http://localhost/health"));
  token = readFileSync(join(rookery.home, "token"), "utf8").trim();
};
beforeEach(() => {
  slow = gate();
});

const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  rookery.fetch(
    new Request(`http://localhost${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    }),
  );

const callTool = (name: string, args: object): Promise<Response> =>
  post(
    "/mcp",
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } },
    { accept: "application/json, text/event-stream" },
  );

const none = () => ({ items: [] });
const keyOf = (user: string): string => `agent:main:api:dm:${user}`;

/** Sends one message. The status is that of the acknowledgement. */
interface Way {
  readonly agent: string;
  send(text: string): Promise<{ readonly status: number; readonly retryAfter?: string | null }>;
}

const answered = async (response: Response) => ({
  status: response.status,
  retryAfter: response.headers.get("retry-after"),
});
const sent = (sending: Promise<unknown>) =>
  sending.then(
    () => ({ status: 202 }),
    (error: unknown) => {
      if (error instanceof QueueFullError) return { status: 429, retryAfter: String(error.retryAfterMs / 1_000) };
      throw error;
    },
  );
const usedTool = async (response: Response) => {
  const { result } = (await response.json()) as { result: { isError?: boolean; content: { text: string }[] } };
  if (!result.isError) return { status: 202 };
  expect(result.content[0]?.text).toMatch(/^3 messages wait/);
  return { status: 429, retryAfter: "5" };
};

const WAYS: Readonly<Record<string, Way>> = {
  "send of the library": { agent: keyOf("send"), send: (text) => sent(rookery.agent("send").send(text)) },
  "the mailbox of the library": {
    agent: keyOf("box"),
    send: (text) => sent(rookery.agent("box").send(text, { mailbox: true })),
  },
  "the route of messages": {
    agent: keyOf("http"),
    send: async (text) => answered(await post(`/api/agents/${keyOf("http")}/messages`, { text })),
  },
  "send_message of MCP": {
    agent: keyOf("tool"),
    send: async (text) => usedTool(await callTool("send_message", { agent: "tool", text })),
  },
  "a hook": {
    agent: `cron:${exactPart("hook:deploy")}`,
    send: async (said) => answered(await post("/hooks/deploy", { said }, { authorization: `Bearer ${SECRET}` })),
  },
  "the webhook connector": {
    agent: "agent:main:webhook:dm:eve",
    send: async (text) => {
      const said = JSON.stringify({ id: text, from: "eve", text });
      const request = { method: "POST", body: said, headers: program.signed(said) };
      const response = await rookery.fetch(new Request("http://localhost/channels/shop", request));
      return { ...(await answered(response)), status: response.status === 200 ? 202 : response.status };
    },
  },
};

/** Sends one message and waits for its answer. */
type Asking = (
  text: string,
) => Promise<{ readonly answer: string } | { readonly status: number; retryAfter?: string | null }>;

const asked = (asking: Promise<string>): ReturnType<Asking> =>
  asking.then(
    (answer) => ({ answer }),
    (error: unknown) => {
      if (error instanceof QueueFullError) return { status: 429, retryAfter: String(error.retryAfterMs / 1_000) };
      throw error;
    },
  );
const askedAt = async (path: string, body: object, answerIn: (text: string) => string): ReturnType<Asking> => {
  const response = await post(path, body);
  const text = await response.text();
  return response.status === 200 ? { answer: answerIn(text) } : answered(response);
};
/** The pieces of text in the events of a stream, put together. */
const joined = (pieceOf: (event: Json) => unknown) => (stream: string) =>
  stream
    .split("\n")
    .flatMap((line) => (line.startsWith("data: {") ? [pieceOf(JSON.parse(line.slice(6)) as Json)] : []))
    .filter((piece) => typeof piece === "string")
    .join("");
// biome-ignore lint/suspicious/noExplicitAny: the JSON of three protocols
type Json = Readonly<Record<string, any>>;

const ASKING: Readonly<Record<string, { readonly user: string; readonly ask: Asking }>> = {
  "ask of the library": { user: "ask", ask: (text) => asked(rookery.agent("ask").ask(text)) },
  "stream of the library": {
    user: "stream",
    ask: (text) => {
      const read = async (): Promise<string> => {
        let said = "";
        for await (const event of rookery.agent("stream").stream(text)) if (event.type === "delta") said += event.text;
        return said;
      };
      return asked(read());
    },
  },
  "chat completions": {
    user: "chat",
    ask: (content) =>
      askedAt(
        "/v1/chat/completions",
        { model: "main", user: "chat", messages: [{ role: "user", content }] },
        (text) => JSON.parse(text).choices[0].message.content,
      ),
  },
  "streamed chat completions": {
    user: "chats",
    ask: (content) =>
      askedAt(
        "/v1/chat/completions",
        { model: "main", user: "chats", stream: true, messages: [{ role: "user", content }] },
        joined(({ choices }) => choices?.[0]?.delta?.content),
      ),
  },
  responses: {
    user: "resp",
    ask: (input) =>
      askedAt(
        "/v1/responses",
        { model: "main", user: "resp", input },
        (text) => JSON.parse(text).output[0].content[0].text,
      ),
  },
  "streamed responses": {
    user: "resps",
    ask: (input) =>
      askedAt(
        "/v1/responses",
        { model: "main", user: "resps", input, stream: true },
        joined(({ type, delta }) => (type === "response.output_text.delta" ? delta : undefined)),
      ),
  },
  "the route of the AI SDK": {
    user: "ui",
    ask: (text) =>
      askedAt(
        "/api/chat",
        { id: "ui", messages: [{ role: "user", parts: [{ type: "text", text }] }] },
        joined(({ type, delta }) => (type === "text-delta" ? delta : undefined)),
      ),
  },
};

const texts = (name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${name} ${n}.`);

/** The answers of the agent, in order. */
async function answersOf(agent: string): Promise<readonly string[]> {
  await rookery.settled();
  const { items } = await rookery.agent(agent).history({ limit: 500 });
  return items
    .toReversed()
    .flatMap(({ entry }) =>
      entry?.type === "message" && entry.role === "assistant" ? [JSON.stringify(entry.content)] : [],
    );
}

let count = 0;
const expectOneEach = (answers: readonly string[], said: readonly string[]): void => {
  expect(answers).toHaveLength(said.length);
  for (const text of said) expect(answers.filter((answer) => answer.includes(text))).toHaveLength(1);
};

describe("messages of a program", () => {
  beforeAll(() => open({}));
  afterAll(() => rookery.close());

  it.each(Object.entries(WAYS))("get one answer each through %s", async (_, { agent, send }) => {
    const said = texts("burst", BURST);
    const acknowledged = await Promise.all(said.map((text) => send(text)));
    expect(acknowledged.map(({ status }) => status)).toEqual(said.map(() => 202));
    slow.open();
    const answers = await answersOf(agent);
    count += answers.length;
    expectOneEach(answers, said);
  });

  it.each(Object.entries(ASKING))(
    "get one answer each if the program waits for all of them: %s",
    async (_, { ask }) => {
      const said = texts("ask", BURST);
      const asking = Promise.all(said.map((text) => ask(text)));
      slow.open();
      const answers = await asking;
      count += answers.length;
      expect(answers).toEqual(said.map((text) => ({ answer: `answer to ${text}` })));
    },
  );

  it("are delivered once each to a program behind the webhook connector", async () => {
    slow.open();
    await rookery.settled();
    await program.until(() => program.textsTo("eve").length >= BURST);
    expect(program.textsTo("eve")).toHaveLength(BURST);
    expect(new Set(program.textsTo("eve")).size).toBe(BURST);
    process.stderr.write(`program queue: ${count} messages in bursts of ${BURST}, ${count} answers\n`);
  });

  it("get an answer in order", async () => {
    const agent = rookery.agent("order");
    const said = texts("turn", 20);
    for (const text of said) await agent.send(text);
    slow.open();
    const answers = await answersOf(keyOf("order"));
    expect(answers.map((answer) => /turn \d+\./.exec(answer)?.[0])).toEqual(said);
  });
});

describe("a message beyond queue.maxWaiting", () => {
  beforeAll(() => open({ queue: { maxWaiting: MAX_WAITING } }));
  afterAll(() => rookery.close());

  it.each(Object.entries(WAYS))("is refused through %s, leaves nothing, and is accepted later", async (name, way) => {
    // The run takes the first one; the others wait.
    expect(await way.send("first.")).toMatchObject({ status: 202 });
    await expect.poll(async () => (await rookery.agent(way.agent).inbox()).waiting.length).toBe(0);
    const said = texts("full", MAX_WAITING);
    for (const text of said) expect(await way.send(text), name).toMatchObject({ status: 202 });
    const { items } = await rookery.agent(way.agent).messages({ limit: 500 });
    expect(await way.send("too much.")).toEqual({ status: 429, retryAfter: "5" });
    expect((await rookery.agent(way.agent).messages({ limit: 500 })).items).toHaveLength(items.length);
    // Commands are accepted all the same.
    expect((await rookery.agent(way.agent).patch({ label: "full" })).seq).toBe((items[0]?.seq ?? 0) + 1);
    slow.open();
    await rookery.settled();
    expect(await way.send("too much.")).toMatchObject({ status: 202 });
    expectOneEach(await answersOf(way.agent), ["first.", ...said, "too much."]);
  });

  it.each(Object.entries(ASKING))("is refused while its program waits for it: %s", async (_, { user, ask }) => {
    const agent = rookery.agent(user);
    const asking = [ask("first.")];
    await expect.poll(async () => (await agent.messages({ limit: 9 }).catch(none)).items[0]?.state).toBe("taken");
    const said = texts("full", MAX_WAITING);
    asking.push(...said.map((text) => ask(text)));
    await expect.poll(async () => (await agent.inbox()).waiting.length).toBe(MAX_WAITING);
    expect(await ask("too much.")).toEqual({ status: 429, retryAfter: "5" });
    expect((await agent.messages({ limit: 9 })).items).toHaveLength(1 + MAX_WAITING);
    slow.open();
    expect(await Promise.all(asking)).toEqual(["first.", ...said].map((text) => ({ answer: `answer to ${text}` })));
    expect(await ask("too much.")).toEqual({ answer: "answer to too much." });
  });
});

/**
 * One message through every way in (M18): the same sender, recipient, id and content are one message, in any order of the ways and in
 * any state of the message. How a caller waits is not a part of it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { gate } from "../../../test/kit/gate.ts";
import { failure, lastText, modelResult } from "../../../test/kit/model.ts";
import { exactPart } from "../../core/agent/session-key.ts";
import { RookeryError } from "../../core/errors.ts";
import type { Model } from "../../core/ports/model.ts";
import { RunFailedError } from "../client/answer.ts";
import { createRookery, type Rookery } from "./create-rookery.ts";

/** Answers nothing until a test opens the gate. Counts the calls by the text of their question. */
let slow = gate();
const calls = new Map<string, number>();
const model: Model = {
  async call(request, signal) {
    const text = lastText(request);
    calls.set(text, (calls.get(text) ?? 0) + 1);
    await Promise.race([slow.promise, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
    if (signal.aborted) return modelResult(failure("aborted"));
    return modelResult(text.startsWith("fail") ? failure("auth") : `answer to ${text}`);
  },
};

let rookery: Rookery;
let token: string;
beforeAll(async () => {
  rookery = await createRookery({ home: "memory", model });
  await rookery.fetch(new Request("http://localhost/health"));
  token = readFileSync(join(rookery.home, "token"), "utf8").trim();
});
beforeEach(() => {
  slow = gate();
});
afterAll(() => rookery.close());

const post = (path: string, body: object, headers: Record<string, string> = {}, as = token): Promise<Response> =>
  rookery.fetch(
    new Request(`http://localhost${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${as}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    }),
  );

/** Sends a message and waits for its end: the text of the answer, or how it ended. */
type Way = (user: string, text: string, id: string) => Promise<string>;

const ended = (error: unknown): string => {
  if (error instanceof RunFailedError) return error.answer.outcome;
  if (error instanceof RookeryError) return error.code;
  throw error;
};

const sent = async (user: string, text: string, more: { id: string; mailbox?: true }): Promise<string> => {
  const { outcome, text: answer } = await (await rookery.agent(user).send(text, more)).result();
  return outcome === "ok" ? answer : outcome;
};
const askedOverMcp = async (user: string, text: string, id: string, more: object): Promise<string> => {
  const response = await post(
    "/mcp",
    {
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name: "ask", arguments: { agent: user, text, id }, ...more },
    },
    { accept: "application/json, text/event-stream" },
  );
  const last = (await response.text()).split("\n").findLast((line) => line.includes('"result"')) ?? "";
  const { result } = JSON.parse(last.replace(/^data: /, ""));
  const said: string = result.content[0].text;
  return result.isError ? (/\((\w+)\)/.exec(said)?.[1] ?? said) : said;
};
/** A stream of the OpenAI routes or of the AI SDK: its text, or how it ended. */
const streamed = async (id: string, path: string, body: object): Promise<string> => {
  const response = await post(path, body, { "idempotency-key": id });
  const text = await response.text();
  if (response.status !== 200) return JSON.parse(text).error.code;
  let said = "";
  for (const line of text.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    const { choices, type, delta, error, errorText, response: end } = JSON.parse(line.slice(6));
    said += choices?.[0]?.delta?.content ?? (/text-delta|output_text\.delta/.test(type) ? delta : "");
    const code: string | undefined = (error ?? end?.error)?.code ?? (type === "error" ? errorText : undefined);
    // The AI SDK has a text and no code.
    const word = /aborted|dropped|failed/.exec(code ?? "")?.[0];
    if (code) return OUTCOMES[code] ?? (word === "failed" ? "error" : word) ?? code;
  }
  return said;
};
const settledAs = ({ json, text }: { json: Json; text?: string }): string =>
  text ?? OUTCOMES[json.error?.code ?? ""] ?? json.error?.code ?? "";
interface Json {
  readonly error?: { readonly code: string };
}

const WAYS = {
  send: (user, text, id) => sent(user, text, { id }),
  mailbox: (user, text, id) => sent(user, text, { id, mailbox: true }),
  ask: (user, text, id) => rookery.agent(user).ask(text, { id }),
  stream: async (user, text, id) => {
    let said = "";
    for await (const event of rookery.agent(user).stream(text, { id })) {
      if (event.type === "delta") said += event.text;
      if (event.type === "end" && event.outcome !== "ok") return event.outcome;
    }
    return said;
  },
  messages: async (user, text, id) => {
    const path = `/api/agents/${encodeURIComponent(`agent:main:api:dm:${exactPart(user)}`)}/messages`;
    const body = { text, waitSeconds: 60, sender: { id: user } };
    const json = await (await post(path, body, { "idempotency-key": id })).json();
    const { answer } = json as { answer?: { outcome: string; text: string } };
    return settledAs({ json: json as Json, text: answer?.outcome === "ok" ? answer.text : answer?.outcome });
  },
  mcp: (user, text, id) => askedOverMcp(user, text, id, {}),
  "mcp with progress": (user, text, id) => askedOverMcp(user, text, id, { _meta: { progressToken: "p" } }),
  completions: async (user, content, id) => {
    const body = { model: "main", user, messages: [{ role: "user", content }] };
    const json = await (await post("/v1/chat/completions", body, { "idempotency-key": id })).json();
    const { choices } = json as { choices?: { message: { content: string } }[] };
    return settledAs({ json: json as Json, text: choices?.[0]?.message.content });
  },
  "streamed completions": (user, content, id) =>
    streamed(id, "/v1/chat/completions", { model: "main", user, stream: true, messages: [{ role: "user", content }] }),
  responses: async (user, input, id) => {
    const json = await (await post("/v1/responses", { model: "main", user, input }, { "idempotency-key": id })).json();
    const { output } = json as { output?: { content: { text: string }[] }[] };
    return settledAs({ json: json as Json, text: output?.[0]?.content[0]?.text });
  },
  chat: (user, text, id) =>
    streamed(id, "/api/chat", { id: user, messages: [{ role: "user", parts: [{ type: "text", text }] }] }),
} satisfies Record<string, Way>;

/** The outcomes by the codes of the OpenAI route. */
const OUTCOMES: Readonly<Record<string, string>> = { run_model: "error", run_aborted: "aborted" };

type WayName = keyof typeof WAYS;
const NAMES = Object.keys(WAYS) as readonly WayName[];
const PAIRS = NAMES.flatMap((first) => NAMES.map((second) => [first, second] as const));

const through = (way: WayName, user: string, text: string, id = "one"): Promise<string> =>
  WAYS[way](user, text, id).catch(ended);

const messagesOf = async (user: string) =>
  (
    await rookery
      .agent(user)
      .messages({ limit: 100 })
      .catch(() => ({ items: [] }))
  ).items;
/** Waits until `count` messages of a user are in one of the states. */
const until = (user: string, count: number, ...states: readonly string[]) =>
  expect.poll(async () => (await messagesOf(user)).filter(({ state }) => states.includes(state)).length).toBe(count);

describe("a message with an id", () => {
  it.each(PAIRS)("is one message through %s and then %s, after it has ended", async (first, second) => {
    slow.open();
    const [user, text] = [`ended ${first} ${second}`, `done ${first} ${second}`];
    const answers = [await through(first, user, text), await through(second, user, text)];
    expect(answers).toEqual([`answer to ${text}`, `answer to ${text}`]);
    expect([calls.get(text), (await messagesOf(user)).length]).toEqual([1, 1]);
  });

  it.each(PAIRS)("is one message through %s and then %s, while it runs and while it waits", async (first, second) => {
    const user = `open ${first} ${second}`;
    const [running, waiting] = [`runs ${first} ${second}`, `waits ${first} ${second}`];
    const answers = [through(first, user, running, "r")];
    await until(user, 1, "taken");
    answers.push(through(second, user, running, "r"), through(first, user, waiting, "w"));
    await until(user, 1, "waiting");
    answers.push(through(second, user, waiting, "w"));
    slow.open();
    const [one, two] = [`answer to ${running}`, `answer to ${waiting}`];
    expect(await Promise.all(answers)).toEqual([one, one, two, two]);
    expect([calls.get(running), calls.get(waiting), (await messagesOf(user)).length]).toEqual([1, 1, 2]);
  });

  it.each(NAMES)("returns how it failed, was aborted or was dropped, through %s", async (way) => {
    const user = `outcomes ${way}`;
    const agent = rookery.agent(user);
    await agent.send("abort me", { id: "aborted" });
    await until(user, 1, "taken");
    const { agentId, seq } = await agent.send("drop me", { id: "dropped" });
    expect((await post(`/api/agents/${agentId}/messages/${seq}/drop`, {})).status).toBe(200);
    await (await agent.stop()).result();
    slow.open();
    await (await agent.send("fail me", { id: "failed" })).result();
    const count = (await messagesOf(user)).length;
    expect([
      await through(way, user, "abort me", "aborted"),
      await through(way, user, "drop me", "dropped"),
      await through(way, user, "fail me", "failed"),
    ]).toEqual(["aborted", "dropped", "error"]);
    expect(await messagesOf(user)).toHaveLength(count);
  });

  it.each(NAMES)("is refused with other content through %s", async (way) => {
    slow.open();
    const user = `other ${way}`;
    await rookery.agent(user).ask("one text", { id: "one" });
    expect(await through(way, user, "another text")).toMatch(/idempotency_key_reused|used with another/);
    expect(await messagesOf(user)).toHaveLength(1);
    expect(await through(way, user, "another text", "two")).toBe("answer to another text");
  });

  it("is refused with other files, overrides or tools, and joins with the same in another order", async () => {
    slow.open();
    const agent = rookery.agent("content");
    const file = (text: string) => ({ data: new TextEncoder().encode(text), name: "note.txt" });
    const first = await agent.send("look", { id: "f", files: [file("one")] });
    expect((await agent.send("look", { id: "f", files: [file("one")] })).messageId).toBe(first.messageId);
    await expect(agent.send("look", { id: "f", files: [file("two")] })).rejects.toMatchObject({ status: 422 });
    await expect(agent.send("look", { id: "f" })).rejects.toMatchObject({ status: 422 });
    const ask = (more: object) =>
      post(
        "/v1/chat/completions",
        { model: "main", user: "content", messages: [{ role: "user", content: "go" }], ...more },
        { "idempotency-key": "o" },
      ).then(({ status, headers }) => [status, headers.get("idempotent-replayed")]);
    const tool = { type: "function", function: { name: "look_up", parameters: { type: "object", properties: {} } } };
    const same = { type: "function", function: { parameters: { properties: {}, type: "object" }, name: "look_up" } };
    expect(await ask({ tools: [tool], temperature: 1 })).toEqual([200, null]);
    expect(await ask({ temperature: 1, tools: [same], stream: false })).toEqual([200, "true"]);
    expect(await ask({ tools: [tool], temperature: 0.5 })).toEqual([422, null]);
    expect(await ask({ temperature: 1 })).toEqual([422, null]);
    expect(await ask({ tools: [tool], temperature: 1, response_format: { type: "json_object" } })).toEqual([422, null]);
  });

  it("is two messages of two applications, and one of two tokens of one application", async () => {
    slow.open();
    const mint = async (app: string): Promise<string> => {
      const minted = await post("/api/tokens", { name: app, app, scopes: ["chat"] });
      return ((await minted.json()) as { token: string }).token;
    };
    const [shop, again, desk] = [await mint("shop"), await mint("shop"), await mint("desk")];
    const send = async (as: string) => {
      const body = { model: "main", user: "ann", messages: [{ role: "user", content: "order" }] };
      const answer = await post("/v1/chat/completions", body, { "idempotency-key": "same" }, as);
      return [answer.status, ((await answer.json()) as { id: string }).id] as const;
    };
    const [first, second, other] = [await send(shop), await send(again), await send(desk)];
    expect([first[0], second, other[0]]).toEqual([200, first, 200]);
    expect(other[1]).not.toBe(first[1]);
  });
});

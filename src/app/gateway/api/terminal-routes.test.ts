import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Model } from "../../../core/ports/model.ts";
import { openTestGateway, type TestGateway } from "../gateway.test-kit.ts";

/** Answers "silent" with the token for it, and never answers "stall". */
const model: Model = {
  async call({ messages }, signal) {
    const text = JSON.stringify(messages.at(-1));
    if (text.includes("stall")) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    const said = text.includes("silent") ? "NO_REPLY" : "fine";
    const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
    return { content: [{ type: "text", text: said }], stopReason: "stop", usage, api: "a", provider: "p", model: "m" };
  },
};

let kit: TestGateway;
beforeEach(async () => {
  kit = await openTestGateway({ model, config: { people: { records: { ann: {}, eve: {} } } } });
});
afterEach(() => kit.close());

const send = async (text: string): Promise<readonly string[]> => {
  const body = { user: "owner", text, line: true };
  const { json } = await kit.ask({ method: "POST", path: "/api/terminal/messages", body });
  const messages = json.messages as readonly { agentId: string; seq: number }[];
  return messages.map(({ agentId, seq }) => `/api/terminal/messages/${agentId}/${seq}?waitSeconds=60`);
};
const replies = async ([path = ""]: readonly string[]) => (await kit.ask({ path })).json;

describe("the replies to a text of the terminal", () => {
  it("are there, and nothing is unanswered", async () => {
    expect(await replies(await send("hi"))).toMatchObject({ replies: [{ text: "fine" }], unanswered: null });
  });

  it("say why there is none: the agent had nothing to say", async () => {
    expect(await replies(await send("silent"))).toMatchObject({
      replies: [],
      unanswered: { reason: expect.stringContaining("suppressed"), failed: false },
    });
  });

  it("say why there is none: a reset aborted the run", async () => {
    const stalled = await send("stall");
    const reset = await send("/new");
    expect(await replies(stalled)).toMatchObject({
      replies: [],
      unanswered: { reason: expect.stringMatching(/^aborted/u), failed: true },
    });
    expect(await replies(reset)).toMatchObject({ settled: true, unanswered: null });
  });
});

describe("how a text of the terminal ended", () => {
  it("says where its entry is in the history, and that a command has none", async () => {
    const asked = await replies(await send("hi"));
    const position = Number(asked.historyEnd);
    const [, agent = ""] = /messages\/([^/]+)/u.exec((await send("hi again"))[0] ?? "") ?? [];
    const { json } = await kit.ask({ path: `/api/agents/${agent}/history?before=${position}` });
    expect(JSON.stringify(json.items)).toContain('"seqs":[1]');
    expect(await replies(await send("/status"))).toMatchObject({ settled: true, runId: null, historyEnd: null });
  });

  it("says that the queue dropped it, and not what the run said that dropped it", async () => {
    await replies(await send("/queue collect cap:1 drop:old debounce:0"));
    const say = async (text: string) => {
      const body = { user: "owner", text };
      const { json } = await kit.ask({ method: "POST", path: "/api/terminal/messages", body });
      const [{ agentId, seq }] = json.messages as [{ agentId: string; seq: number }];
      return [`/api/terminal/messages/${agentId}/${seq}?waitSeconds=60`];
    };
    await say("stall");
    await expect
      .poll(async () => (await kit.ask({ path: "/api/agents" })).json.items)
      .toMatchObject([{ runId: expect.any(String) }]);
    const [first, second] = [await say("the first"), await say("the second")];
    const { agentId } = /messages\/(?<agentId>[^/]+)/u.exec(first[0] ?? "")?.groups ?? {};
    await kit.ask({ method: "POST", path: `/api/agents/${agentId}/stop` });
    expect(await replies(second)).toMatchObject({ replies: [{ text: "fine" }], runId: expect.any(String) });
    expect(await replies(first)).toMatchObject({
      ...{ settled: true, runId: null, historyEnd: null },
      replies: [{ text: "The message was dropped: cap 1 (old)", isError: true }],
    });
  });
});

describe("a guest at the terminal", () => {
  const mint = async (more: object): Promise<string> => {
    const { json } = await kit.ask({
      method: "POST",
      path: "/api/tokens",
      body: { name: "t", scopes: ["chat"], ...more },
    });
    return json.token as string;
  };
  interface Info {
    readonly agentId: string;
    readonly sessionKey: string;
    readonly terminal: string | null;
    readonly url: string | null;
    readonly today: { readonly tokens: number };
  }
  const info = async (token: string | undefined, query = ""): Promise<Info> =>
    (await kit.ask({ path: `/api/terminal${query}`, token })).json as unknown as Info;
  const typed = async (token: string, body: object) => {
    const { status, json } = await kit.ask({ method: "POST", path: "/api/terminal/messages", token, body });
    const [message] = (json.messages ?? []) as { agentId: string; seq: number }[];
    if (!message) return { status, agentId: "", said: {} };
    const path = `/api/terminal/messages/${message.agentId}/${message.seq}?waitSeconds=60`;
    return { status, ...message, said: (await kit.ask({ path, token })).json };
  };

  it("speaks in conversations of the own, the main one and named ones", async () => {
    const ann = await mint({ person: "ann" });
    const first = await typed(ann, { text: "hello" });
    expect(first).toMatchObject({ status: 202, said: { replies: [{ text: "fine" }] } });
    const work = await typed(ann, { text: "for work", thread: "work" });
    expect(work.agentId).not.toBe(first.agentId);
    expect(await info(ann)).toMatchObject({ agentId: first.agentId, terminal: null, url: null });
    expect(await info(ann, "?thread=work")).toMatchObject({ agentId: work.agentId });
    // A second conversation is about something else.
    const { json } = await kit.ask({ path: `/api/agents/${work.agentId}/history`, token: ann });
    expect(JSON.stringify(json)).not.toContain("hello");
    expect((await typed(ann, { text: "/status" })).said).toMatchObject({
      replies: [{ text: expect.stringContaining("Model") }],
    });
  });

  it("reaches no conversation of the owner or of another guest, and cannot speak as one", async () => {
    const [ann, eve] = [await mint({ person: "ann" }), await mint({ person: "eve" })];
    await send("owner's words");
    const owner = await info(undefined);
    const { agentId } = await typed(ann, { text: "ann's words" });
    const other = [owner.agentId, owner.sessionKey, agentId, (await info(ann)).sessionKey];
    for (const agent of other) {
      expect(
        (await kit.ask({ path: `/api/terminal?agent=${encodeURIComponent(agent ?? "")}`, token: eve })).status,
      ).toBe(404);
      expect((await typed(eve, { text: "hi", agent })).status).toBe(404);
      expect(
        (await kit.ask({ path: `/api/terminal/messages/${encodeURIComponent(agent ?? "")}/1`, token: eve })).status,
      ).toBe(404);
    }
    for (const user of ["owner", "ann", "person:ann"]) {
      expect((await typed(eve, { text: "hi", user })).status).toBe(403);
      expect((await kit.ask({ path: `/api/terminal?user=${user}`, token: eve })).status).toBe(403);
    }
    expect(await info(eve)).toMatchObject({ agentId: null });
  });

  it("sees the cost of the own conversations only", async () => {
    const [ann, eve] = [await mint({ person: "ann" }), await mint({ person: "eve" })];
    await typed(ann, { text: "hello" });
    expect((await info(eve)).today.tokens).toBe(0);
    expect((await info(ann)).today.tokens).toBe(15);
    await typed(eve, { text: "hello" });
    expect([(await info(ann)).today.tokens, (await info(undefined)).today.tokens]).toEqual([15, 30]);
  });

  it("is the owner only with the scope admin, and an application names its user", async () => {
    const operator = await mint({ scopes: ["operate"] });
    expect(await typed(operator, { text: "hi" })).toMatchObject({ status: 403 });
    const shop = await mint({ app: "shop" });
    expect(await typed(shop, { text: "hi" })).toMatchObject({ status: 400 });
    expect(await typed(shop, { text: "hi", user: "bob" })).toMatchObject({ status: 202 });
  });

  it("sends a repeated request once", async () => {
    const ann = await mint({ person: "ann" });
    const once = {
      method: "POST",
      path: "/api/terminal/messages",
      token: ann,
      body: { text: "one" },
      headers: { "idempotency-key": "k1" },
    };
    const [first, second] = [await kit.ask(once), await kit.ask(once)];
    expect(second.json).toEqual(first.json);
  });
});

import { afterEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { ModelEvent, ModelMessage, ModelRequest } from "../../core/ports/model.ts";
import { httpPost } from "../system/http-post.ts";
import { systemClock } from "../system/system-clock.ts";
import { inCatalogue } from "./catalogue.ts";
import { callCompletions } from "./openai-completions/completions-call.ts";
import { callPiAi } from "./pi-ai/pi-ai-call.ts";
import type { CallDeps, ProviderApi, ProviderCall, ProviderResult } from "./provider-call.ts";
import type { ProviderModel } from "./provider-model.ts";
import { type Protocol, type Script, startWire, type Turn, type WireServer } from "./wire.test-kit.ts";

const ADAPTORS: readonly { name: string; protocol: Protocol; api: ProviderApi }[] = [
  { name: "anthropic-messages", protocol: "anthropic-messages", api: callPiAi },
  { name: "openai-completions, direct", protocol: "openai-completions", api: callCompletions },
  { name: "openai-completions, library", protocol: "openai-completions", api: callPiAi },
  { name: "openai-responses", protocol: "openai-responses", api: callPiAi },
];

const KEY = "sk-planted-key-0123456789";
const PRICE = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const USER_AGENT = "rookery/1.2.3";

let servers: WireServer[] = [];
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
});

async function wire(protocol: Protocol, script: Script | Turn): Promise<WireServer> {
  const server = await startWire(protocol, typeof script === "function" ? script : () => script);
  servers.push(server);
  return server;
}

const modelAt = (server: WireServer, protocol: Protocol, extra: Partial<ProviderModel> = {}): ProviderModel => ({
  provider: "house",
  id: "m",
  api: protocol,
  baseUrl: server.baseUrl,
  contextWindow: 200_000,
  maxTokens: 8_192,
  cost: PRICE,
  thinking: ["off", "low", "high"],
  images: true,
  ...extra,
});

const say = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });

const requestOf = (extra: Partial<ModelRequest> = {}): ModelRequest => ({
  model: "house/m",
  system: "You are under test.",
  messages: [say("hello")],
  tools: [],
  sessionId: "session-1",
  ...extra,
});

const TOOL = {
  name: "look_up",
  description: "Looks something up.",
  parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
};

interface Asked {
  readonly result: ProviderResult;
  readonly events: readonly ModelEvent[];
}

async function ask(
  api: ProviderApi,
  model: ProviderModel,
  request: ModelRequest = requestOf(),
  extra: Partial<ProviderCall> & { world?: Partial<CallDeps> } = {},
): Promise<Asked> {
  const events: ModelEvent[] = [];
  const { world, ...more } = extra;
  const result = await api(
    { clock: systemClock, fetch, ...(world?.fetch ? {} : { post: httpPost }), userAgent: USER_AGENT, ...world },
    {
      model,
      request,
      key: KEY,
      stallMs: 60_000,
      signal: new AbortController().signal,
      onEvent: (event) => events.push(event),
      ...more,
    },
  );
  return { result, events };
}

const textIn = (events: readonly ModelEvent[], type: "text" | "thinking"): string =>
  events.map((event) => (event.type === type ? event.delta : "")).join("");

describe.each(ADAPTORS)("$name", ({ protocol, api }) => {
  it.each(['{"word":"ab', '{"word"', "nonsense", '["word"]', '{"word":"a"} and'])(
    "marks a call whose arguments are %s, so that it is never executed",
    async (given) => {
      const tools = [
        { id: "c1", name: "look_up", arguments: given },
        { id: "c2", name: "look_up", arguments: { word: "whole" } },
      ];
      const server = await wire(protocol, { tools });
      const { result } = await ask(api, modelAt(server, protocol), requestOf({ tools: [TOOL] }));
      expect(result.error).toBeUndefined();
      const calls = result.content.filter((block) => block.type === "toolCall");
      expect(calls.map(({ malformed = false }) => malformed)).toEqual([true, false]);
      expect(calls[1]?.arguments).toEqual({ word: "whole" });
    },
  );

  it("streams an answer, counts it and prices it", async () => {
    const server = await wire(protocol, {
      text: "Hello there, friend.",
      usage: { input: 100, output: 20, cacheRead: 50 },
    });
    const { result, events } = await ask(api, modelAt(server, protocol));
    expect(result).toMatchObject({ stopReason: "stop", provider: "house", model: "m", api: protocol });
    expect(result.error).toBeUndefined();
    expect(result.content).toEqual([expect.objectContaining({ type: "text", text: "Hello there, friend." })]);
    expect(textIn(events, "text")).toBe("Hello there, friend.");
    expect(events.length).toBeGreaterThan(1);
    expect(result.usage).toMatchObject({ input: 100, output: 20, cacheRead: 50, totalTokens: 170 });
    expect(result.usage?.cost?.total).toBeCloseTo((100 * 3 + 20 * 15 + 50 * 0.3) / 1e6, 12);
  });

  it("returns a tool call, and sends it back with its result", async () => {
    const server = await wire(protocol, (_, n) =>
      n === 1
        ? { text: "Let me see.", tools: [{ id: "call_1", name: "look_up", arguments: { word: "rook" } }] }
        : { text: "A bird." },
    );
    const model = modelAt(server, protocol);
    const first = await ask(api, model, requestOf({ tools: [TOOL] }));
    expect(first.result.stopReason).toBe("tool_calls");
    const call = first.result.content.find((block) => block.type === "toolCall");
    expect(call).toMatchObject({ name: "look_up", arguments: { word: "rook" } });
    expect(first.events).toContainEqual(expect.objectContaining({ type: "toolCall", name: "look_up" }));

    const { content, stopReason } = first.result;
    const history: ModelMessage[] = [
      say("hello"),
      { role: "assistant", content, stopReason, api: protocol, provider: "house", model: "m" },
      {
        role: "tool",
        toolCallId: call?.id,
        toolName: "look_up",
        content: [{ type: "text", text: "Corvus" }],
        isError: false,
      },
    ];
    const second = await ask(api, model, requestOf({ tools: [TOOL], messages: history }));
    expect(second.result).toMatchObject({ stopReason: "stop" });
    const sent = JSON.stringify(server.received[1]?.body);
    expect(sent).toContain("Corvus");
    expect(sent).toContain("Looks something up.");
    expect(sent.match(/call_1/g)?.length).toBeGreaterThanOrEqual(2);
  });

  it("forwards thinking, requests the level, and sends the model's own thinking back", async () => {
    const server = await wire(protocol, { thinking: "Hm, let me think.", text: "Done." });
    const model = modelAt(server, protocol);
    const { result, events } = await ask(api, model, requestOf(), { thinking: "high" });
    expect(textIn(events, "thinking").trim()).toBe("Hm, let me think.");
    expect(result.content[0]).toMatchObject({ type: "thinking", thinking: "Hm, let me think." });
    expect(JSON.stringify(server.received[0]?.body)).toMatch(
      /"effort":"high"|"reasoning_effort":"high"|"budget_tokens":\d+/,
    );
    const { content, stopReason } = result;
    const own: ModelMessage = { role: "assistant", content, stopReason, api: protocol, provider: "house", model: "m" };
    await ask(api, model, requestOf({ messages: [say("hello"), own, say("more")] }), { thinking: "high" });
    expect(JSON.stringify(server.received[1]?.body)).toMatch(/c2lnbmVk|"reasoning_content":"Hm, let me think\."/);
  });

  it("sends images, or a note if the model cannot see them", async () => {
    const server = await wire(protocol, { text: "A cat." });
    const messages: ModelMessage[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "what is this" },
          { type: "image", data: "aGk=", mimeType: "image/png" },
        ],
      },
    ];
    await ask(api, modelAt(server, protocol), requestOf({ messages }));
    expect(JSON.stringify(server.received[0]?.body)).toContain("aGk=");
    await ask(api, modelAt(server, protocol, { images: false }), requestOf({ messages }));
    expect(JSON.stringify(server.received[1]?.body)).not.toContain("aGk=");
    expect(JSON.stringify(server.received[1]?.body)).toMatch(/image/);
  });

  it("shows images of tool results", async () => {
    const server = await wire(protocol, { text: "Seen." });
    const messages: ModelMessage[] = [
      say("look"),
      {
        role: "assistant",
        content: [{ type: "toolCall", id: "c1", name: "look_up", arguments: {} }],
        stopReason: "tool_calls",
        api: protocol,
        provider: "house",
        model: "m",
      },
      {
        role: "tool",
        toolCallId: "c1",
        toolName: "look_up",
        content: [{ type: "image", data: "aGk=", mimeType: "image/png" }],
      },
    ];
    await ask(api, modelAt(server, protocol), requestOf({ messages, tools: [TOOL] }));
    expect(JSON.stringify(server.received[0]?.body)).toContain("aGk=");
  });

  it("keeps the partial answer when it is aborted in mid-stream, and closes the connection", async () => {
    const server = await wire(protocol, { text: "Once upon a time", ending: "hold" });
    const stop = new AbortController();
    const heard: string[] = [];
    const { result } = await ask(api, modelAt(server, protocol), requestOf(), {
      signal: stop.signal,
      onEvent: (event) => {
        if (event.type !== "text") return;
        heard.push(event.delta);
        if (heard.join("") === "Once upon a time") stop.abort();
      },
    });
    expect(result).toMatchObject({ stopReason: "aborted", error: { class: "aborted" } });
    expect(result.content).toEqual([expect.objectContaining({ type: "text", text: "Once upon a time" })]);
    await server.hungUp(1);
  });

  it("sends nothing if the call is already aborted", async () => {
    const server = await wire(protocol, { text: "no" });
    const { result } = await ask(api, modelAt(server, protocol), requestOf(), { signal: AbortSignal.abort() });
    expect(result.error?.class).toBe("aborted");
    expect(server.received).toHaveLength(0);
  });

  it("detects a prompt that is too long", async () => {
    const body = {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 213462 tokens > 200000 maximum" },
    };
    const server = await wire(protocol, { status: 400, body });
    const { result } = await ask(api, modelAt(server, protocol));
    expect(result).toMatchObject({ stopReason: "error", error: { class: "overflow" }, status: 400 });
    expect(result.error?.message).toContain("213462 tokens");
  });

  it("detects a prompt that was cut silently", async () => {
    const server = await wire(protocol, { text: "What?", usage: { input: 9_000, output: 3 } });
    const { result } = await ask(api, modelAt(server, protocol, { contextWindow: 8_192 }));
    expect(result.error?.class).toBe("overflow");
    expect(result.content).toHaveLength(1);
  });

  it("sends one request at a rate limit and returns how long to wait", async () => {
    const server = await wire(protocol, {
      status: 429,
      headers: { "retry-after": "7" },
      body: { error: { message: "too many tokens per minute" } },
    });
    const { result } = await ask(api, modelAt(server, protocol));
    expect(result.error).toMatchObject({ class: "rate", retryAfterMs: 7_000 });
    expect(server.received).toHaveLength(1);
  });

  it("understands a date in retry-after", async () => {
    const clock = virtualClock(Date.parse("2026-01-01T00:00:00Z"));
    const server = await wire(protocol, { status: 429, headers: { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" } });
    const { result } = await ask(api, modelAt(server, protocol), requestOf(), { world: { clock } });
    expect(result.error).toMatchObject({ class: "rate", retryAfterMs: 30_000 });
  });

  it("sends one request to an overloaded server", async () => {
    const server = await wire(protocol, {
      status: 529,
      body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    });
    const { result } = await ask(api, modelAt(server, protocol));
    expect(result.error).toMatchObject({ class: "transient", message: "house answered 529: Overloaded" });
    expect(server.received).toHaveLength(1);
  });

  it.each([
    [401, { error: { type: "authentication_error", message: `invalid key ${KEY}` } }],
    [403, { error: { message: "not yours" } }],
    [429, { error: { code: "insufficient_quota", message: "You exceeded your current quota" } }],
  ])("classifies %i as auth, and does not repeat the key", async (status, body) => {
    const server = await wire(protocol, { status, body });
    const { result } = await ask(api, modelAt(server, protocol));
    expect(result.error?.class).toBe("auth");
    expect(JSON.stringify(result)).not.toContain("planted");
  });

  it("shows the provider's text for any other refusal", async () => {
    const server = await wire(protocol, {
      status: 400,
      body: { error: { type: "invalid_request_error", message: "tools.0: no" } },
    });
    const { result } = await ask(api, modelAt(server, protocol));
    expect(result.error).toEqual({ class: "request", message: "house answered 400: tools.0: no" });
  });

  it("does not follow a redirect with the key", async () => {
    const elsewhere = await wire(protocol, { text: "caught" });
    const server = await wire(protocol, { status: 307, headers: { location: `${elsewhere.baseUrl}/x` } });
    const { result } = await ask(api, modelAt(server, protocol));
    expect(result.error?.class).toBe("request");
    expect(elsewhere.received).toHaveLength(0);
  });

  it("classifies a dropped connection as transient and keeps the partial answer", async () => {
    const server = await wire(protocol, { text: "Half an ans", ending: "drop" });
    const { result } = await ask(api, modelAt(server, protocol));
    expect(result).toMatchObject({ stopReason: "error", error: { class: "transient" } });
    expect(JSON.stringify(result.content)).toContain("Half an ans");
  });

  it("classifies a stream that ends too early as transient", async () => {
    const server = await wire(protocol, { text: "Half an ans", ending: "end-early" });
    const { result } = await ask(api, modelAt(server, protocol));
    expect(result.error?.class).toBe("transient");
  });

  it("classifies a malformed event as transient for any content, and prints nothing", async () => {
    const server = await wire(protocol, { text: "prompt is too long ", ending: "malformed" });
    const { result } = await ask(api, modelAt(server, protocol));
    expect(result.error?.class).toBe("transient");
    expect(result.error?.message).not.toContain("prompt");
  });

  it("classifies an error in mid-stream by the provider's text", async () => {
    const overloaded = await wire(protocol, {
      text: "Half",
      ending: { error: { type: "overloaded_error", code: "server_error", message: "Overloaded" } },
    });
    expect((await ask(api, modelAt(overloaded, protocol))).result.error).toMatchObject({
      class: "transient",
      message: "house said: Overloaded",
    });
    const limited = await wire(protocol, {
      text: "Half",
      ending: { error: { type: "rate_limit_error", code: "rate_limit_exceeded", message: "slow down" } },
    });
    expect((await ask(api, modelAt(limited, protocol))).result.error?.class).toBe("rate");
  });

  it("is not misled by a conversation that quotes errors", async () => {
    const server = await wire(protocol, { status: 400, body: { error: { message: "bad field" } } });
    const messages = [say("prompt is too long, maximum context length is 5 tokens, rate limit, invalid_api_key")];
    const { result } = await ask(api, modelAt(server, protocol), requestOf({ messages }));
    expect(result.error?.class).toBe("request");
  });

  it("ends a stream that sends no data for the configured time", async () => {
    const clock = virtualClock();
    const server = await wire(protocol, { text: "Well, ", ending: "hold" });
    const firstEvent = Promise.withResolvers<void>();
    const asked = ask(api, modelAt(server, protocol), requestOf(), {
      stallMs: 30_000,
      world: { clock },
      onEvent: () => firstEvent.resolve(),
    });
    await firstEvent.promise;
    clock.advanceSync(29_999);
    clock.advanceSync(30_000);
    const { result } = await asked;
    expect(result.error).toEqual({ class: "transient", message: "house sent no data for 30 seconds." });
    expect(JSON.stringify(result.content)).toContain("Well,");
    expect(clock.timers).toBe(0);
    await server.hungUp(1);
  });

  it("does not end a stream that sends keep-alives", async () => {
    const clock = virtualClock();
    const server = await wire(protocol, { text: "Well, ", ending: "hold" });
    const firstEvent = Promise.withResolvers<void>();
    const stop = new AbortController();
    let beats = 0;
    const beat = Promise.withResolvers<void>();
    const listening: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!response.body) return response;
      const counted = response.body.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            controller.enqueue(chunk);
            if (Buffer.from(chunk).includes(": beat") && ++beats === 1) setImmediate(() => beat.resolve());
          },
        }),
      );
      return new Response(counted, { status: response.status, headers: response.headers });
    };
    const asked = ask(api, modelAt(server, protocol), requestOf(), {
      stallMs: 30_000,
      signal: stop.signal,
      world: { clock, fetch: listening },
      onEvent: () => firstEvent.resolve(),
    });
    await firstEvent.promise;
    clock.advanceSync(20_000);
    server.more(1, ": beat\n\n");
    await beat.promise;
    clock.advanceSync(20_000);
    stop.abort();
    expect((await asked).result.error?.class).toBe("aborted");
  });

  it("classifies an unreachable server as transient and names it", async () => {
    const server = await wire(protocol, {});
    const model = modelAt(server, protocol);
    await server.close();
    const { result } = await ask(api, model);
    expect(result.error?.class).toBe("transient");
    expect(result.error?.message).toContain(`house could not be reached at ${model.baseUrl}`);
  });

  it("sends our user agent and no header of a library", async () => {
    const server = await wire(protocol, { text: "ok" });
    await ask(api, modelAt(server, protocol), requestOf({ tools: [TOOL] }));
    const [received] = server.received;
    expect(received?.headers["user-agent"]).toBe(USER_AGENT);
    const names = Object.keys(received?.headers ?? {});
    expect(names.filter((name) => /stainless|dangerous/.test(name))).toEqual([]);
    expect(JSON.stringify(received?.body)).not.toMatch(/\bpi\b|__pi/);
  });

  it("sends no key if there is none", async () => {
    const server = await wire(protocol, { text: "ok" });
    const { result } = await ask(api, modelAt(server, protocol), requestOf(), { key: undefined });
    expect(result.stopReason).toBe("stop");
    expect(server.received[0]?.headers.authorization).toBeUndefined();
    expect(server.received[0]?.headers["x-api-key"]).toBeUndefined();
  });

  it("continues a conversation that another provider began, with its thinking and calls", async () => {
    const server = await wire(protocol, { text: "Going on." });
    const long = `call_${"x".repeat(430)}|fc_${"y".repeat(20)}`;
    const foreign = { api: "other-api", provider: "elsewhere", model: "z" } as const;
    const messages: ModelMessage[] = [
      say("find it"),
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "A foreign thought.", thinkingSignature: "Zm9yZWlnbg==" },
          { type: "toolCall", id: long, name: "look_up", arguments: { word: "rook" } },
        ],
        stopReason: "tool_calls",
        ...foreign,
      },
      { role: "tool", toolCallId: long, toolName: "look_up", content: [{ type: "text", text: "Corvus" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "lost" },
          { type: "text", text: "I was say" },
        ],
        stopReason: "aborted",
        ...foreign,
      },
      say("go on"),
    ];
    const { result } = await ask(api, modelAt(server, protocol), requestOf({ messages, tools: [TOOL] }));
    expect(result.stopReason).toBe("stop");
    const sent = JSON.stringify(server.received[0]?.body);
    expect(sent).toContain("A foreign thought.");
    expect(sent).not.toContain("Zm9yZWlnbg==");
    expect(sent).toContain("I was say");
    expect(sent).not.toContain("lost");
    expect(sent).not.toContain("|fc_");
    const ids = [...sent.matchAll(/"(?:id|call_id|tool_call_id|tool_use_id)":"([^"]+)"/g)].map(([, id]) => id ?? "");
    const calls = ids.filter((id) => /call/.test(id));
    expect(calls.every((id) => /^[\w-]{1,64}$/.test(id))).toBe(true);
    const paired = calls.filter((id) => calls.indexOf(id) !== calls.lastIndexOf(id));
    expect(paired.length).toBeGreaterThanOrEqual(2);
  });
});

describe("anthropic-messages", () => {
  it("marks the prompt for the provider's cache", async () => {
    const server = await wire("anthropic-messages", { text: "ok" });
    await ask(callPiAi, modelAt(server, "anthropic-messages"), requestOf({ tools: [TOOL] }));
    const [{ body }] = server.received as [(typeof server.received)[number]];
    expect(body.system[0].cache_control).toEqual({ type: "ephemeral" });
    expect(body.tools[0].cache_control).toEqual({ type: "ephemeral" });
    expect(body.messages.at(-1).content.at(-1).cache_control).toEqual({ type: "ephemeral" });
  });
});

describe("a model of the catalogue", () => {
  it("is called without the library's tool changes and fallback models", async () => {
    const server = await wire("anthropic-messages", { text: "ok" });
    const known = await inCatalogue("anthropic", "claude-fable-5");
    if (!known) throw new TypeError("the catalogue has changed");
    const { result } = await ask(callPiAi, { ...known, baseUrl: server.baseUrl }, requestOf({ tools: [TOOL] }), {
      thinking: "xhigh",
    });
    expect(result.stopReason).toBe("stop");
    const [{ body, headers }] = server.received as [(typeof server.received)[number]];
    expect(body.tools.map(({ name }: { name: string }) => name)).toEqual(["look_up"]);
    expect(body.fallbacks).toBeUndefined();
    expect(headers["anthropic-beta"] ?? "").not.toContain("fallback");
    expect(body.output_config).toEqual({ effort: "xhigh" });
    expect(result.usage?.cost?.total).toBeCloseTo((11 * known.cost.input + 7 * known.cost.output) / 1e6, 12);
  });
});

describe("openai-responses", () => {
  it("sends the session id for the provider's cache", async () => {
    const server = await wire("openai-responses", { text: "ok" });
    await ask(callPiAi, modelAt(server, "openai-responses"));
    expect(server.received[0]?.body.prompt_cache_key).toBe("session-1");
  });
});

/** Models of the AI SDK: `@ai-sdk/openai-compatible` against servers with faults, and the shapes of versions 2 to 4. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { LoadAPIKeyError } from "@ai-sdk/provider";
import { LLMock } from "@copilotkit/aimock";
import { convertArrayToReadableStream, MockLanguageModelV3, MockLanguageModelV4 } from "ai/test";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { tries } from "../../../../test/kit/share.ts";
import { createRookery } from "../../../app/library/create-rookery.ts";
import { defineTool } from "../../../app/library/define-tool.ts";
import { blockSchema } from "../../../core/history/entry.ts";
import type { ModelErrorClass, ModelEvent, ModelMessage, ModelRequest } from "../../../core/ports/model.ts";
import { systemClock } from "../../system/system-clock.ts";
import { type Script, startWire, type Turn, type WireServer } from "../wire.test-kit.ts";
import { aiSdkModel } from "./ai-sdk-model.ts";
import type { LanguageModel } from "./language-model.ts";

const KEY = "sk-planted-key-0123456789";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

async function wire(script: Script | Turn): Promise<WireServer> {
  const server = await startWire("openai-completions", typeof script === "function" ? script : () => script);
  open.push(server);
  return server;
}

const modelAt = (baseURL: string): LanguageModel =>
  createOpenAICompatible({ name: "house", baseURL, apiKey: KEY, includeUsage: true })("m");

const say = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });
const TOOL = {
  name: "look_up",
  description: "Looks something up.",
  parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
};
const requestOf = (extra: Partial<ModelRequest> = {}): ModelRequest => ({
  ...{ model: "auto", system: "You are under test.", messages: [say("hello")], tools: [], sessionId: "s" },
  ...extra,
});

async function ask(
  model: LanguageModel,
  request = requestOf(),
  { clock = systemClock, signal = new AbortController().signal } = {},
) {
  const events: ModelEvent[] = [];
  const result = await aiSdkModel(model, { clock, stallMs: 60_000 }).call(request, signal, (e) => events.push(e));
  return { result, events };
}

describe("a model of the AI SDK over HTTP", () => {
  it("streams an answer and counts it", async () => {
    const server = await wire({
      thinking: "Hm.",
      text: "Hello there.",
      usage: { input: 100, output: 20, cacheRead: 50 },
    });
    const { result, events } = await ask(modelAt(server.baseUrl));
    expect(result.error).toBeUndefined();
    expect(result).toMatchObject({ stopReason: "stop", api: "ai-sdk", provider: "house.chat", model: "m" });
    expect(result.content).toMatchObject([
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "Hello there." },
    ]);
    expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
    expect(result.usage).toMatchObject({ input: 100, output: 20, cacheRead: 50, totalTokens: 170 });
  });

  it("calls a tool, and sends call and result back", async () => {
    const server = await wire((_, n) =>
      n === 1 ? { tools: [{ id: "call_1", name: "look_up", arguments: { word: "rook" } }] } : { text: "A bird." },
    );
    const model = modelAt(server.baseUrl);
    const first = await ask(model, requestOf({ tools: [TOOL] }));
    expect(first.result).toMatchObject({
      stopReason: "tool_calls",
      content: [{ type: "toolCall", id: "call_1", name: "look_up", arguments: { word: "rook" } }],
    });
    expect(first.events).toContainEqual({ type: "toolCall", id: "call_1", name: "look_up" });
    const { content, stopReason, api, provider, model: id } = first.result;
    const messages: ModelMessage[] = [
      say("hello"),
      { role: "assistant", content, stopReason, api, provider, model: id },
      { role: "tool", toolCallId: "call_1", toolName: "look_up", content: [{ type: "text", text: "Corvus" }] },
    ];
    const second = await ask(model, requestOf({ tools: [TOOL], messages }));
    expect(second.result.content).toMatchObject([{ type: "text", text: "A bird." }]);
    expect(server.received[1]?.body).toMatchObject({
      tools: [{ function: { name: "look_up", parameters: TOOL.parameters } }],
      messages: [
        { role: "system", content: "You are under test." },
        { role: "user", content: "hello" },
        { role: "assistant", tool_calls: [{ id: "call_1", function: { arguments: '{"word":"rook"}' } }] },
        { role: "tool", tool_call_id: "call_1", content: "Corvus" },
      ],
    });
  });

  const refusal = (status: number, message: string, more: Partial<Turn> = {}): Turn => ({
    status,
    body: { error: { message } },
    ...more,
  });
  it.each<[string, Turn, ModelErrorClass, object?]>([
    ["a rate limit", refusal(429, "slow down", { headers: { "retry-after": "7" } }), "rate", { retryAfterMs: 7_000 }],
    ["an overloaded server", refusal(503, "busy"), "transient"],
    ["a server that fails", refusal(500, "oops"), "transient"],
    ["a refused key", refusal(401, "no"), "auth"],
    ["an empty account", refusal(429, "insufficient_quota"), "auth"],
    ["a prompt that is too long", refusal(400, "maximum context length is 8192 tokens"), "overflow"],
    ["any other refusal", refusal(400, "no such field"), "request"],
    ["a dropped connection", { text: "half an ans", ending: "drop" }, "transient"],
    ["a stream that ends early", { text: "half an ans", ending: "end-early" }, "transient"],
    ["a malformed event", { text: "half an ans", ending: "malformed" }, "transient"],
    ["an error in the stream", { text: "x", ending: { error: { message: "Rate limit reached" } } }, "rate"],
  ])("classifies %s, after one request and without the key", async (_, turn, kind, more = {}) => {
    const server = await wire(turn);
    const { result } = await ask(modelAt(server.baseUrl));
    expect(result).toMatchObject({ stopReason: "error", error: { class: kind, ...more } });
    expect(server.received).toHaveLength(1);
    expect(JSON.stringify(result)).not.toContain(KEY);
    if (turn.ending === "drop") expect(result.content).toMatchObject([{ type: "text" }]);
  });

  it("classifies a server that is not there, and a key that is not set", async () => {
    expect((await ask(modelAt("http://127.0.0.1:9"))).result.error).toMatchObject({ class: "transient" });
    const doStream = () => Promise.reject(new LoadAPIKeyError({ message: "Set HOUSE_API_KEY." }));
    const { error } = (await ask({ specificationVersion: "v4", provider: "p", modelId: "m", doStream })).result;
    expect(error).toMatchObject({ class: "auth", message: expect.stringContaining("HOUSE_API_KEY") });
  });

  it("keeps what has arrived when it is aborted, and closes the connection", async () => {
    const server = await wire({ text: "the beginning", ending: "hold" });
    const abort = new AbortController();
    const calling = ask(modelAt(server.baseUrl), requestOf(), { signal: abort.signal });
    while (server.received.length === 0) await new Promise(setImmediate);
    abort.abort();
    expect((await calling).result).toMatchObject({ stopReason: "aborted", error: { class: "aborted" } });
    await server.hungUp(1);
  });

  it("ends a call that sends nothing for too long", async () => {
    const server = await wire({ text: "the beginning", ending: "hold" });
    const clock = virtualClock();
    const calling = ask(modelAt(server.baseUrl), requestOf(), { clock });
    while (server.received.length === 0) await new Promise(setImmediate);
    clock.advanceSync(120_000);
    clock.advanceSync(120_000);
    expect((await calling).result.error).toMatchObject({ class: "transient" });
  });

  it("answers in an engine, through tools and over a rate limit", async () => {
    const mock = new LLMock({ port: 0, logLevel: "silent" });
    await mock.start();
    open.push({ close: () => mock.stop() });
    mock.on({ hasToolResult: true }, { content: "It is sunny." });
    mock.onMessage(/Rome/, { toolCalls: [{ name: "weather", arguments: { city: "Rome" } }] });
    mock.nextRequestError(429, { message: "slow down", type: "rate_limit" });
    const asked: string[] = [];
    const weather = defineTool({
      name: "weather",
      description: "Weather in a city",
      input: z.object({ city: z.string() }),
      execute({ city }) {
        asked.push(city);
        return `Sunny in ${city}`;
      },
    });
    const model = createOpenAICompatible({ name: "mock", baseURL: `${mock.url}/v1`, apiKey: KEY })("m");
    await using rookery = await createRookery({ home: "memory", model, tools: [weather] });
    expect(await rookery.agent("ann").ask("Weather in Rome?")).toBe("It is sunny.");
    expect(asked).toEqual(["Rome"]);
    expect(JSON.stringify(mock.getLastRequest()?.body)).toContain("Sunny in Rome");
  });
});

const IMAGE = { type: "image", data: "aGk=", mimeType: "image/png" } as const;
const conversation: ModelMessage[] = [
  { role: "user", content: [{ type: "text", text: "see" }, IMAGE] },
  {
    ...{ role: "assistant", api: "ai-sdk", provider: "mock", model: "m", stopReason: "tool_calls" },
    content: [
      { type: "thinking", thinking: "hm", providerMetadata: { p: { signature: "s1" } } },
      { type: "toolCall", id: "c1", name: "look_up", arguments: {}, providerMetadata: { p: { thought: "t1" } } },
    ],
  },
  { role: "tool", toolCallId: "c1", toolName: "look_up", content: [{ type: "text", text: "a" }, IMAGE] },
  { role: "tool", toolCallId: "c2", toolName: "look_up", content: [{ type: "text", text: "no" }], isError: true },
];
const V3_USAGE = { inputTokens: { total: 9, noCache: 4, cacheRead: 3, cacheWrite: 2 }, outputTokens: { total: 5 } };
const parts = (finishReason: unknown, usage: unknown) => [
  { type: "stream-start", warnings: [] },
  { type: "reasoning-start", id: "0" },
  { type: "reasoning-delta", id: "0", delta: "deep" },
  { type: "reasoning-end", id: "0", providerMetadata: { p: { signature: "s2" } } },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "yes" },
  { type: "text-end", id: "0" },
  { type: "source", sourceType: "url", id: "x", url: "http://x" },
  { type: "tool-call", toolCallId: "c3", toolName: "look_up", input: '{"word":"a"}' },
  { type: "tool-call", toolCallId: "c4", toolName: "web", input: "{}", providerExecuted: true },
  { type: "finish", finishReason, usage },
];

describe.each([
  {
    version: "v2",
    finish: "tool-calls",
    usage: { inputTokens: 7, outputTokens: 5, totalTokens: 12, cachedInputTokens: 3 },
    counted: { input: 4, output: 5, cacheRead: 3, cacheWrite: 0 },
    file: "aGk=",
    result: { type: "media", data: "aGk=", mediaType: "image/png" },
  },
  {
    version: "v3",
    finish: { unified: "tool-calls", raw: "tool_use" },
    usage: V3_USAGE,
    counted: { input: 4, output: 5, cacheRead: 3, cacheWrite: 2 },
    file: "aGk=",
    result: { type: "image-data", data: "aGk=", mediaType: "image/png" },
  },
  {
    version: "v4",
    finish: { unified: "tool-calls", raw: "tool_use" },
    usage: V3_USAGE,
    counted: { input: 4, output: 5, cacheRead: 3, cacheWrite: 2 },
    file: { type: "data", data: "aGk=" },
    result: { type: "file", data: { type: "data", data: "aGk=" }, mediaType: "image/png" },
  },
])("a model of specification $version", ({ version, finish, usage, counted, file, result }) => {
  const calls: { prompt: readonly { role: string; content: unknown }[]; reasoning?: string }[] = [];
  const doStream = async (options: unknown) => {
    calls.push(options as (typeof calls)[number]);
    return { stream: convertArrayToReadableStream(parts(finish, usage)) };
  };
  const settings = { provider: "mock", modelId: "m", doStream: doStream as never };
  const model: LanguageModel =
    version === "v3"
      ? new MockLanguageModelV3(settings)
      : version === "v4"
        ? new MockLanguageModelV4(settings)
        : { ...settings, specificationVersion: "v2" };

  it("gets the conversation in its form, with its own thoughts and signatures", async () => {
    await ask(model, requestOf({ messages: conversation, tools: [TOOL], thinking: "low" }));
    const { prompt, reasoning } = calls.at(-1) ?? { prompt: [] };
    expect(prompt.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(prompt[1]?.content).toEqual([
      { type: "text", text: "see" },
      { type: "file", mediaType: "image/png", data: file },
    ]);
    expect(prompt[2]?.content).toMatchObject([
      { type: "reasoning", text: "hm", providerOptions: { p: { signature: "s1" } } },
      { type: "tool-call", toolCallId: "c1", input: {}, providerOptions: { p: { thought: "t1" } } },
    ]);
    expect(prompt[3]?.content).toMatchObject([
      { toolCallId: "c1", output: { type: "content", value: [{ type: "text", text: "a" }, result] } },
      { toolCallId: "c2", output: { type: "error-text", value: "no" } },
    ]);
    expect(reasoning).toBe(version === "v4" ? "low" : undefined);
  });

  it("answers with what is kept, and what it executed itself is no call", async () => {
    const { result: answer } = await ask(model);
    expect(answer.error).toBeUndefined();
    expect(answer).toMatchObject({
      stopReason: "tool_calls",
      content: [
        { type: "thinking", thinking: "deep", providerMetadata: { p: { signature: "s2" } } },
        { type: "text", text: "yes" },
        { type: "toolCall", id: "c3", arguments: { word: "a" } },
      ],
      usage: counted,
    });
    expect(answer.content).toHaveLength(3);
  });
});

describe("any stream of parts", () => {
  const id = fc.constantFrom("0", "1");
  const delta = fc.string({ maxLength: 5 });
  const part = fc.oneof(
    fc.record({ type: fc.constantFrom("text-start", "text-end", "reasoning-start", "reasoning-end"), id }),
    fc.record({ type: fc.constantFrom("text-delta", "reasoning-delta", "tool-input-delta"), id, delta }),
    fc.record({
      type: fc.constant("tool-call"),
      toolCallId: id,
      toolName: fc.constant("t"),
      input: fc.constantFrom("{}", "", "[1", "7", '{"a":1}'),
    }),
    fc.record({
      type: fc.constant("finish"),
      finishReason: fc.constantFrom("stop", "length", "error"),
      usage: fc.constant({}),
    }),
    fc.record({ type: fc.constant("error"), error: fc.anything() }),
    fc.anything(),
  );

  it("ends in a result whose text is what was streamed, and never throws", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (parts) => {
        const doStream = async () => ({ stream: convertArrayToReadableStream(parts as object[]) });
        const { result, events } = await ask({ specificationVersion: "v2", provider: "p", modelId: "m", doStream });
        const said = events.map((event) => (event.type === "text" ? event.delta : "")).join("");
        const kept = result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
        // Parts of two ids may be mixed: then the order of their blocks counts.
        expect([...kept].sort()).toEqual([...said].sort());
        expect(result.error === undefined || result.stopReason === "error").toBe(true);
        expect(result.content.every((block) => blockSchema.safeParse(block).success)).toBe(true);
      }),
      { numRuns: tries(300) },
    );
  });
});

describe("a model that cannot be used", () => {
  it("is refused when the engine is made", async () => {
    const old = { specificationVersion: "v1", provider: "p", modelId: "m", doStream: () => Promise.reject() };
    await expect(createRookery({ home: "memory", model: old })).rejects.toThrow(/"v1"/);
    await expect(createRookery({ home: "memory", model: {} as never })).rejects.toThrow(/is not a model/);
  });

  it("is reported if it filters the answer, or never ends it", async () => {
    const ending = (...tail: object[]): LanguageModel => ({
      ...{ specificationVersion: "v3", provider: "p", modelId: "m" },
      doStream: async () => ({ stream: convertArrayToReadableStream(tail) }),
    });
    const finish = (unified: string) => ({ type: "finish", finishReason: { unified }, usage: {} });
    expect((await ask(ending(finish("content-filter")))).result.error).toMatchObject({ class: "request" });
    expect((await ask(ending(finish("error")))).result.error).toMatchObject({ class: "transient" });
    expect((await ask(ending(finish("interrupted")))).result.error).toMatchObject({ class: "transient" });
    expect((await ask(ending())).result.error).toMatchObject({ class: "transient" });
    const call = { type: "tool-call", toolCallId: "c", toolName: "t", input: "[1" };
    expect((await ask(ending(call, finish("stop")))).result.error).toMatchObject({ class: "transient" });
  });
});

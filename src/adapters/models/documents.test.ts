/** PDFs as documents: what each provider is sent, which models read the text instead, and what happens if a document is refused. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { documentBlock } from "../../core/history/document-block.ts";
import type { ModelMessage, ModelRequest } from "../../core/ports/model.ts";
import { systemClock } from "../system/system-clock.ts";
import { aiSdkModel } from "./ai-sdk/ai-sdk-model.ts";
import type { LanguageModel } from "./ai-sdk/language-model.ts";
import { takesDocuments } from "./documents.ts";
import { callPiAi } from "./pi-ai/pi-ai-call.ts";
import type { ProviderModel } from "./provider-model.ts";
import { testRouter } from "./router.test-kit.ts";
import { startWire } from "./wire.test-kit.ts";

const LINE = "File received: invoice.pdf (application/pdf, 9 bytes, id file_1)";
const PDF = { mimeType: "application/pdf", name: "invoice.pdf", data: "JVBERi0x", pages: 2, line: LINE };
const MESSAGE: ModelMessage = {
  role: "user",
  content: [
    { type: "text", text: "what is this" },
    documentBlock(`${LINE}\n<file_content>Invoice 42</file_content>`, PDF),
  ],
};
const REQUEST: ModelRequest = { model: "m", system: "", messages: [MESSAGE], tools: [], sessionId: "s" };
const MODEL: ProviderModel = {
  ...{ provider: "house", id: "m", api: "", baseUrl: "", contextWindow: 200_000, maxTokens: 1_000 },
  ...{ cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, thinking: ["off"], images: true },
};
const send = (model: ProviderModel) =>
  callPiAi(
    { clock: systemClock, fetch, userAgent: "rookery/test" },
    { model, request: REQUEST, key: "k", stallMs: 60_000, signal: new AbortController().signal, onEvent() {} },
  );

describe("a document is sent", () => {
  it.each([
    [
      "anthropic-messages",
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0x" } },
    ],
    [
      "openai-responses",
      { type: "input_file", filename: "document.pdf", file_data: "data:application/pdf;base64,JVBERi0x" },
    ],
  ] as const)("by %s as its own kind of part, behind the line that names it", async (api, part) => {
    const server = await startWire(api, () => ({ text: "An invoice." }));
    try {
      expect((await send({ ...MODEL, api, baseUrl: server.baseUrl })).stopReason).toBe("stop");
      const { messages, input } = (server.received[0]?.body ?? {}) as Record<
        string,
        { role: string; content: object[] }[]
      >;
      const content = (messages ?? input)?.find(({ role }) => role === "user")?.content ?? [];
      expect(content).toHaveLength(3);
      expect(content[1]).toMatchObject({ text: LINE });
      expect(content[2]).toMatchObject(part);
      expect(JSON.stringify(content)).not.toContain("Invoice 42");
    } finally {
      await server.close();
    }
  });

  it("by google-generative-ai as data with its type", async () => {
    let body = "";
    const server = createServer((request, response) => {
      request.on("data", (piece) => {
        body += piece;
      });
      request.on("end", () => {
        const answer = { candidates: [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }] };
        response.setHeader("content-type", "text/event-stream").end(`data: ${JSON.stringify(answer)}\n\n`);
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1beta`;
    expect((await send({ ...MODEL, api: "google-generative-ai", baseUrl })).stopReason).toBe("stop");
    server.close();
    const { contents } = JSON.parse(body) as { contents: { parts: object[] }[] };
    expect(contents[0]?.parts[2]).toEqual({ inlineData: { mimeType: "application/pdf", data: "JVBERi0x" } });
  });

  it.each([
    ["v3", { "application/pdf": [] }, "JVBERi0x"],
    ["v4", Promise.resolve({ "*": [] }), { type: "data", data: "JVBERi0x" }],
  ])("by a model of the AI SDK (%s) that names the type", async (version, supportedUrls, data) => {
    const prompts = await askSdk(version, supportedUrls);
    expect(prompts).toHaveLength(1);
    expect(prompts[0]?.[0]?.content[2]).toEqual({
      ...{ type: "file", mediaType: "application/pdf", filename: "invoice.pdf" },
      data,
    });
  });
});

describe("the text of a document is sent", () => {
  it.each<[string, Partial<ProviderModel>]>([
    ["a server that only speaks the protocol", { provider: "house", api: "anthropic-messages" }],
    ["a model that sees nothing", { provider: "anthropic", api: "anthropic-messages", images: false }],
    ["a model with a small window", { provider: "openai", api: "openai-responses", contextWindow: 32_000 }],
    ["the older API of OpenAI", { provider: "openai", api: "openai-completions" }],
  ])("to %s", (_, model) => {
    expect(takesDocuments({ ...MODEL, ...model })).toBe(false);
    expect(takesDocuments({ ...MODEL, provider: "anthropic", api: "anthropic-messages" })).toBe(true);
  });

  it("by the router to a model that takes none", async () => {
    const router = testRouter(
      `{ providers: { house: { api: "openai-completions", baseUrl: "http://h" } } }`,
      () => undefined,
    );
    await router.ask({ ...REQUEST, model: "house/m" });
    expect(router.calls[0]?.request.messages[0]?.content[1]).toEqual({ type: "text", text: documentText() });
  });

  it("once more if the provider refuses the document, so that one PDF cannot end a conversation", async () => {
    const config = `{ providers: { anthropic: { apiKey: "k" } } }`;
    const usage = { input: 9, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 9 };
    const refused = { error: { class: "request", message: "The PDF specified was not valid." }, status: 400 } as const;
    const router = testRouter(config, (_, n) => (n === 1 ? { ...refused, usage } : undefined));
    const result = await router.ask({ ...REQUEST, model: "anthropic/claude-sonnet-5" });
    expect(result.error).toBeUndefined();
    // What the refused request used is paid too.
    expect(result.alsoUsed).toEqual([usage]);
    const sent = router.calls.map(({ request }) => request.messages[0]?.content[1]);
    expect(sent).toEqual([MESSAGE.content[1], { type: "text", text: documentText() }]);
    const limited = testRouter(config, () => ({ class: "rate" }));
    await limited.ask({ ...REQUEST, model: "anthropic/claude-sonnet-5" });
    expect(limited.calls).toHaveLength(1);
  });

  it("to a model of the AI SDK that names no such type, or refuses it", async () => {
    const [first] = await askSdk("v4", { "image/*": [] });
    expect(JSON.stringify(first)).toContain("Invoice 42");
    const refused = await askSdk("v4", { "application/pdf": [] }, true);
    expect(refused.map((prompt) => JSON.stringify(prompt).includes("Invoice 42"))).toEqual([false, true]);
  });
});

it("what a model of the AI SDK used before it refused a document is part of the cost", async () => {
  let asked = 0;
  const model: LanguageModel = {
    ...{ specificationVersion: "v2", provider: "mock", modelId: "m", supportedUrls: { "application/pdf": [] } },
    async doStream() {
      const finishReason = asked++ === 0 ? "content-filter" : "stop";
      return { stream: ReadableStream.from([{ type: "finish", finishReason, usage: { inputTokens: 8 + asked } }]) };
    },
  };
  const sdk = aiSdkModel(model, { clock: systemClock, stallMs: 60_000 });
  const result = await sdk.call(REQUEST, new AbortController().signal, () => {});
  expect(result).toMatchObject({ usage: { input: 10 }, alsoUsed: [{ input: 9 }] });
});

const documentText = (): string => (MESSAGE.content[1] as { text: string }).text;

type Prompt = { readonly content: readonly unknown[] }[];

async function askSdk(specificationVersion: string, supportedUrls: object, refuses = false): Promise<Prompt[]> {
  const prompts: Prompt[] = [];
  const model: LanguageModel = {
    ...{
      specificationVersion,
      provider: "mock",
      modelId: "m",
      supportedUrls: supportedUrls as Record<string, unknown>,
    },
    async doStream(options: { prompt: Prompt }) {
      prompts.push(options.prompt);
      if (refuses && prompts.length === 1) {
        throw Object.assign(new Error("not a valid PDF"), {
          name: "AI_APICallError",
          statusCode: 400,
          responseBody: "{}",
        });
      }
      const parts = [
        { type: "text-delta", id: "0", delta: "ok" },
        { type: "finish", finishReason: "stop", usage: {} },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  };
  const signal = new AbortController().signal;
  await aiSdkModel(model, { clock: systemClock, stallMs: 60_000 }).call(REQUEST, signal, () => {});
  return prompts;
}

import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelEvent } from "../../core/ports/model.ts";
import { systemClock } from "../system/system-clock.ts";
import { callPiAi } from "./pi-ai/pi-ai-call.ts";
import type { ProviderResult } from "./provider-call.ts";

interface Answer {
  readonly status?: number;
  readonly chunks?: readonly object[];
  readonly body?: object;
}

interface Got {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let close: (() => void) | undefined;
afterEach(() => close?.());

async function ask(answer: Answer): Promise<{ result: ProviderResult; events: ModelEvent[]; got: Got }> {
  let got: Got | undefined;
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      got = { path: request.url ?? "", headers: request.headers, body };
      response.writeHead(answer.status ?? 200, {
        "content-type": answer.body ? "application/json" : "text/event-stream",
      });
      response.end(
        answer.body
          ? JSON.stringify(answer.body)
          : answer.chunks?.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = () => void server.closeAllConnections();
  const events: ModelEvent[] = [];
  const result = await callPiAi(
    { clock: systemClock, fetch, userAgent: "rookery/1.2.3" },
    {
      model: {
        provider: "google",
        id: "g",
        api: "google-generative-ai",
        baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1beta`,
        contextWindow: 100_000,
        maxTokens: 1_000,
        cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
        thinking: ["off"],
        images: true,
      },
      request: {
        model: "google/g",
        system: "Be brief.",
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "hello" },
              { type: "image", data: "aGk=", mimeType: "image/png" },
            ],
          },
        ],
        tools: [{ name: "look_up", description: "Looks up.", parameters: { type: "object", properties: {} } }],
        sessionId: "s",
      },
      key: "AIzaPlantedPlantedPlantedPlanted",
      stallMs: 60_000,
      signal: new AbortController().signal,
      onEvent: (event) => events.push(event),
    },
  );
  server.close();
  if (!got) throw new TypeError("no request arrived");
  return { result, events, got };
}

const part = (parts: readonly object[], extra: object = {}): object => ({
  candidates: [{ content: { role: "model", parts }, ...extra }],
});

describe("google-generative-ai", () => {
  it.each([
    ["a text", '{"word":"ab'],
    ["a list", ["word"]],
    ["a number", 5],
    ["a truth", true],
  ])("marks a call whose arguments are %s, so that it is never executed", async (_, args) => {
    const calls = [
      { functionCall: { name: "look_up", args } },
      { functionCall: { name: "look_up", args: { word: "whole" } } },
    ];
    const { result } = await ask({ chunks: [part(calls, { finishReason: "STOP" })] });
    expect(result.error).toBeUndefined();
    const made = result.content.filter((block) => block.type === "toolCall");
    expect(made.map(({ malformed = false }) => malformed)).toEqual([true, false]);
    expect(made[1]?.arguments).toEqual({ word: "whole" });
  });

  it.each([undefined, null])("takes %s for no arguments", async (args) => {
    const { result } = await ask({
      chunks: [part([{ functionCall: { name: "look_up", args } }], { finishReason: "STOP" })],
    });
    expect(result.content).toMatchObject([{ type: "toolCall", arguments: {} }]);
    expect(result.content[0]).not.toHaveProperty("malformed", true);
  });

  it("streams text and calls, counts tokens, and sends our user agent", async () => {
    const { result, events, got } = await ask({
      chunks: [
        part([{ text: "Let me " }]),
        part([{ text: "see." }]),
        {
          ...part([{ functionCall: { name: "look_up", args: {} } }], { finishReason: "STOP" }),
          usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 },
        },
      ],
    });
    expect(result).toMatchObject({ stopReason: "tool_calls", usage: { input: 10, output: 4, totalTokens: 14 } });
    expect(result.content).toMatchObject([
      { type: "text", text: "Let me see." },
      { type: "toolCall", name: "look_up" },
    ]);
    expect(events.map(({ type }) => type)).toEqual(["text", "text", "toolCall", "arguments"]);
    expect(got.headers["user-agent"]).toBe("rookery/1.2.3");
    expect(got.headers["x-goog-api-client"]).toBe("rookery/1.2.3");
    expect(got.body).toContain("aGk=");
    expect(got.body).toContain("Be brief.");
  });

  it.each<[number, object, object]>([
    [
      429,
      {
        error: {
          code: 429,
          message: "Quota exceeded",
          status: "RESOURCE_EXHAUSTED",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "39s" }],
        },
      },
      { class: "rate", retryAfterMs: 39_000 },
    ],
    [
      400,
      { error: { code: 400, message: "API key not valid. Please pass a valid API key.", status: "INVALID_ARGUMENT" } },
      { class: "auth" },
    ],
    [
      400,
      {
        error: {
          code: 400,
          message: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
          status: "INVALID_ARGUMENT",
        },
      },
      { class: "overflow" },
    ],
    [503, { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }, { class: "transient" }],
    [400, { error: { code: 400, message: "bad field", status: "INVALID_ARGUMENT" } }, { class: "request" }],
  ])("classifies %i %j", async (status, body, error) => {
    const { result } = await ask({ status, body });
    expect(result.error).toMatchObject(error);
    expect(JSON.stringify(result)).not.toContain("Planted");
  });

  it("classifies a stream without an end as transient", async () => {
    expect((await ask({ chunks: [part([{ text: "Half" }])] })).result.error?.class).toBe("transient");
  });

  it("classifies an answer that was stopped for its content as request", async () => {
    expect((await ask({ chunks: [part([{ text: "No" }], { finishReason: "SAFETY" })] })).result.error?.class).toBe(
      "request",
    );
  });
});

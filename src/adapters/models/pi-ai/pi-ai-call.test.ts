/** What goes out through the library, and which of its words come back. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { ProviderCall } from "../provider-call.ts";
import type { ProviderModel } from "../provider-model.ts";
import { callPiAi } from "./pi-ai-call.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const MODEL: ProviderModel = {
  ...{ provider: "house", id: "m", api: "openai-completions", baseUrl: "http://house/v1", images: false },
  ...{ contextWindow: 10_000, maxTokens: 100, thinking: ["off", "low"] },
  cost: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
};

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const said = (...events: readonly string[]): Response =>
  new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
const fine = (): Response => said(chunk({ content: "hi" }), chunk({}, "stop"), "data: [DONE]\n\n");

async function ask(answer: () => Response, more: Partial<ProviderCall> = {}) {
  const sent: { readonly headers: Headers; readonly body: Record<string, unknown> }[] = [];
  const result = await callPiAi(
    {
      ...{ clock: virtualClock(), userAgent: "rookery/test" },
      fetch: async (_, init) => {
        sent.push({ headers: new Headers(init?.headers), body: JSON.parse(String(init?.body)) });
        return answer();
      },
    },
    {
      ...{ model: MODEL, key: "sk-key-0123456789", stallMs: 60_000, signal: new AbortController().signal },
      request: {
        ...{ model: "house/m", system: "", tools: [], sessionId: "s" },
        messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
      },
      onEvent: () => {},
      ...more,
    },
  );
  return { result, sent };
}

describe("a failure", () => {
  test("of an answer that was stopped names the reason, and is not tried again", async () => {
    const { result } = await ask(() =>
      said(chunk({ content: "half" }), chunk({}, "content_filter"), "data: [DONE]\n\n"),
    );
    expect(result.error).toMatchObject({
      class: "request",
      message: "house said: The answer was stopped (content_filter).",
    });
  });

  test("that the stream reports comes before the reason of the library", async () => {
    const error = { type: "server_error", message: "we are overloaded" };
    const { result } = await ask(() => said(chunk({ content: "half" }), `data: ${JSON.stringify({ error })}\n\n`));
    expect(result.error).toMatchObject({ class: "transient", message: "house said: we are overloaded" });
  });

  test("of a response has its status and its words", async () => {
    const refused = () => new Response('{"error":{"message":"no such model"}}', { status: 404 });
    const { result } = await ask(refused);
    expect(result).toMatchObject({ status: 404, error: { class: "request" } });
    expect(result.error?.message).toBe("house answered 404: no such model");
  });

  test("of an API that is not known is the program's own", async () => {
    const { result, sent } = await ask(fine, { model: { ...MODEL, api: "none" } });
    expect(result.error?.message).toBe('house answered 400: The API "none" is not known.');
    expect(sent).toEqual([]);
  });
});

describe("a request", () => {
  test.each([
    ["http://house/v1", null],
    ["https://api.openai.com/v1", "org-1"],
  ])("to %s names the organisation of the environment: %s", async (baseUrl, expected) => {
    vi.stubEnv("OPENAI_ORG_ID", "org-1");
    vi.stubEnv("OPENAI_PROJECT_ID", "org-1");
    const { sent } = await ask(fine, { model: { ...MODEL, baseUrl } });
    for (const name of ["openai-organization", "openai-project"]) expect(sent[0]?.headers.get(name)).toBe(expected);
  });

  test("has the headers of a login, and its own name", async () => {
    const headers = { Authorization: "Token t", "x-account": "a" };
    const { sent } = await ask(fine, { headers });
    expect(sent[0]?.headers.get("authorization")).toBe("Token t");
    expect(sent[0]?.headers.get("x-account")).toBe("a");
    expect(sent[0]?.headers.get("user-agent")).toBe("rookery/test");
  });

  test.each([
    [undefined, undefined],
    ["off", undefined],
    ["low", "low"],
  ] as const)("with the thinking level %s asks for %s", async (thinking, effort) => {
    const { sent } = await ask(fine, { thinking });
    expect(sent[0]?.body.reasoning_effort).toBe(effort);
  });
});

test.each([
  ["openai-responses", ["off", "low"], undefined],
  ["openai-responses", ["off"], 0.5],
  ["openai-completions", ["off", "low"], 0.5],
] as const)(
  "the temperature of a model of %s with the thinking levels %j is sent as %s",
  async (api, thinking, sent) => {
    const messages = [{ role: "user", content: [{ type: "text", text: "hello" }] }] as const;
    const request = { model: "house/m", system: "", tools: [], sessionId: "s", temperature: 0.5, messages };
    const asked = await ask(fine, { model: { ...MODEL, api, thinking }, request });
    expect(asked.sent[0]?.body.temperature).toBe(sent);
  },
);

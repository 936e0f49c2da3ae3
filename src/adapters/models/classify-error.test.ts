import { describe, expect, it } from "vitest";
import { classifyFailure } from "./classify-error.ts";
import { cutSilently, saysTooLong } from "./overflow.ts";
import { errorInBody, errorInJson, errorInStream } from "./provider-error.ts";
import { retryAfterMs, retryDelayIn } from "./retry-after.ts";

/** One text per pattern, as providers write it. */
const TOO_LONG = [
  "prompt is too long: 213462 tokens > 200000 maximum",
  "Prompt too long",
  "input is too long for requested model.",
  "Your input exceeds the context window of this model. Please adjust your input and try again.",
  "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
  "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  "Please reduce the length of the messages or completion.",
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
  "This model's maximum context length is 8,192 tokens.",
  "prompt token count of 140000 exceeds the limit of 128000",
  "the request exceeds the available context size. try increasing the context size",
  "The number of tokens to keep from the initial prompt is greater than the context length.",
  "invalid params, context window exceeds limit",
  "Your request exceeded model token limit: 262144 (requested: 291351)",
  "Prompt contains 9000 tokens, too large for model with 8192 maximum context length",
  "model_context_window_exceeded",
  "context_length_exceeded",
  "context length exceeded",
  "too many tokens in the prompt",
  "token limit exceeded",
  "request_too_large",
  "Requested token count exceeds the model's maximum context length of 131072 tokens.",
  "Input length (265330) exceeds model's maximum context length (262144).",
  "Input length 300000 exceeds the maximum allowed input length of 262,144 tokens.",
  "Range of input length should be [1, 30720]",
  "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
  "Prompt has 9,000 tokens, but the configured context size is 8,192 tokens",
  "prompt too long; exceeded max context length by 812 tokens",
  "context window exceeded",
  "prompt exceeds max length",
  "house API error (413): payload",
  "413 Request Entity Too Large",
  "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
  "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
];

/** Texts that mention tokens and limits but mean something else. */
const NOT_TOO_LONG = [
  "ThrottlingException: Too many tokens, please wait before trying again.",
  "Throttling error: Too many tokens",
  "Service unavailable: too many tokens in flight",
  "max_tokens: 300000 exceeds the limit of 128000",
  "max_output_tokens: 300000 exceeds the limit of 128000",
  "max_completion_tokens: 300000 exceeds the limit of 128000",
  "429 rate limit: too many tokens per minute",
  "Too many requests: too many tokens",
  "Invalid value for max_tokens",
  "tools.0.input_schema: too long a name",
];

describe("a prompt that is too long", () => {
  it.each(TOO_LONG)("is detected in: %s", (text) => {
    expect(saysTooLong(text, "house")).toBe(true);
    expect(classifyFailure({ status: 400, text }, "house")).toBe("overflow");
    expect(classifyFailure({ text }, "house")).toBe("overflow");
  });

  it.each(NOT_TOO_LONG)("is not detected in: %s", (text) => {
    expect(saysTooLong(text, "house")).toBe(false);
    expect(classifyFailure({ status: 400, text }, "house")).not.toBe("overflow");
  });

  it.each([429, 503, 529])("is never detected in a %i", (status) => {
    for (const text of TOO_LONG) expect(classifyFailure({ status, text }, "house")).not.toBe("overflow");
  });

  it("is detected by an empty answer of one provider only", () => {
    expect(saysTooLong("400 status code (no body)", "cerebras")).toBe(true);
    expect(saysTooLong("400 (no body)", "cerebras")).toBe(true);
    expect(saysTooLong("400 status code (no body)", "house")).toBe(false);
  });

  it("is detected by the token counts", () => {
    const usage = { input: 7_000, output: 3, cacheRead: 2_000, cacheWrite: 0, totalTokens: 9_003 };
    expect(cutSilently("stop", usage, 8_192)).toBe(true);
    expect(cutSilently("stop", usage, 9_000)).toBe(false);
    expect(cutSilently("length", { ...usage, output: 0 }, 9_050)).toBe(true);
    expect(cutSilently("length", usage, 9_050)).toBe(false);
    expect(cutSilently("length", { ...usage, output: 0 }, 10_000)).toBe(false);
    expect(cutSilently("stop", undefined, 10)).toBe(false);
  });
});

describe("the class of a failure", () => {
  it.each<[Parameters<typeof classifyFailure>[0], string]>([
    [{ status: 429 }, "rate"],
    [{ status: 429, text: "too many tokens per minute" }, "rate"],
    [{ status: 400, text: "ThrottlingException: Too many tokens, please wait" }, "rate"],
    [{ status: 400, code: "rate_limit_error", text: "slow down" }, "rate"],
    [{ code: "rate_limit_exceeded", text: "slow down" }, "rate"],
    [{ status: 429, code: "insufficient_quota", text: "You exceeded your current quota" }, "auth"],
    [{ status: 400, text: "Your credit balance is too low to access the API." }, "auth"],
    [{ status: 402, text: "Insufficient credits" }, "auth"],
    [{ status: 401 }, "auth"],
    [{ status: 403, text: "forbidden" }, "auth"],
    [{ status: 400, code: "INVALID_ARGUMENT", text: "API key not valid. Please pass a valid API key." }, "auth"],
    [{ code: "authentication_error", text: "invalid x-api-key" }, "auth"],
    [{ status: 500 }, "transient"],
    [{ status: 502, text: "<html>" }, "transient"],
    [{ status: 503, text: "Service unavailable" }, "transient"],
    [{ status: 529, code: "overloaded_error", text: "Overloaded" }, "transient"],
    [{ status: 408 }, "transient"],
    [{ status: 409 }, "transient"],
    [{ code: "overloaded_error", text: "Overloaded" }, "transient"],
    [{ code: "api_error", text: "Internal server error" }, "transient"],
    [{ text: "an unknown problem" }, "transient"],
    [{}, "transient"],
    [{ status: 500, text: "the request exceeds the available context size" }, "overflow"],
    [{ status: 413 }, "overflow"],
    [{ status: 400, code: "context_length_exceeded", text: "no" }, "overflow"],
    [{ status: 400, text: "messages.1: bad" }, "request"],
    [{ status: 404, text: "model not found" }, "request"],
    [{ status: 422 }, "request"],
    [{ status: 302 }, "request"],
    [{ code: "content_filter", text: "The answer was stopped (content_filter)." }, "request"],
    [{ code: "refusal", text: "The answer was stopped (refusal)." }, "request"],
    [{ code: "invalid_request_error", text: "bad" }, "request"],
    [{ status: 400, text: "max_tokens: 300000 exceeds the limit of 128000" }, "request"],
  ])("of %j is %s", (failure, expected) => {
    expect(classifyFailure(failure, "house")).toBe(expected);
  });
});

describe("a provider's error", () => {
  it.each<[string, unknown, object]>([
    ["OpenAI's", { error: { message: "no", type: "t", code: "c" } }, { code: "t c", text: "no" }],
    [
      "Anthropic's",
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      { code: "overloaded_error", text: "Overloaded" },
    ],
    [
      "Google's",
      [{ error: { code: 429, message: "slow", status: "RESOURCE_EXHAUSTED" } }],
      { code: "RESOURCE_EXHAUSTED", text: "slow" },
    ],
    ["Ollama's", { error: "model not found" }, { text: "model not found" }],
    [
      "a failed response",
      { type: "response.failed", response: { error: { code: "server_error", message: "oops" } } },
      { code: "server_error", text: "oops" },
    ],
    ["vLLM's", { object: "error", message: "bad", type: "BadRequestError" }, { code: "BadRequestError", text: "bad" }],
    ["FastAPI's", { detail: "not here" }, { text: "not here" }],
    [
      "a router's, with its provider's text",
      { error: { message: "Provider returned error", metadata: { raw: "prompt is too long" } } },
      { text: "Provider returned error prompt is too long" },
    ],
  ])("is read in %s form", (_, value, error) => {
    expect(errorInJson(value)).toEqual(error);
  });

  it("is the text itself if it is not JSON, without tags and of limited length", () => {
    expect(errorInBody(502, "<html><b>Bad gateway</b></html>")).toEqual({ text: "Bad gateway" });
    expect(errorInBody(400, "")).toEqual({ text: "400 (no body)" });
    expect(errorInBody(400, "x".repeat(5_000)).text.length).toBeLessThan(1_100);
    // Quadratic work on this body would take minutes.
    expect(errorInBody(400, "<".repeat(1_000_000)).text.length).toBeLessThan(1_100);
  });

  it("is read from the last complete event of a stream only", () => {
    const delta =
      'data: {"choices":[{"delta":{"content":"{\\"error\\":{\\"message\\":\\"prompt is too long\\"}}"}}]}\n\n';
    expect(errorInStream(delta)).toBeUndefined();
    expect(errorInStream(`${delta}data: {"error":{"message":"busy"}}\n\n`)).toEqual({ text: "busy" });
    expect(errorInStream("data: {broken")).toBeUndefined();
    expect(errorInStream("")).toBeUndefined();
  });
});

describe("retry-after", () => {
  const clock = { now: () => Date.parse("2026-01-01T00:00:00Z") };
  it.each<[Record<string, string>, number | undefined]>([
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "1200", "retry-after": "99" }, 1_200],
    [{ "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT" }, 60_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-5" }, undefined],
    [{}, undefined],
  ])("of %j is %s", (headers, expected) => {
    expect(retryAfterMs((name) => new Headers(headers).get(name), clock)).toBe(expected);
  });

  it("is found in a body", () => {
    expect(retryDelayIn('{"error":{"details":[{"@type":"RetryInfo","retryDelay": "39s"}]}}')).toBe(39_000);
    expect(retryDelayIn("{}")).toBeUndefined();
  });
});

import { describe, expect, it } from "vitest";
import { costOf } from "../../core/budget/budget-decision.ts";
import type { ModelResult } from "../../core/ports/model.ts";
import { chargeFor, estimatePromptTokens, greatestCost, UNKNOWN_PRICE } from "./greatest-cost.ts";

const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const price = { contextWindow: 200_000, maxTokens: 8_000, leastTokens: 256, cost };

describe("the greatest cost of a call", () => {
  it("is the prompt at its highest price and an answer of full length", () => {
    const call = greatestCost(1_000, price);
    expect(costOf(call, call.maxTokens)).toEqual({ tokens: 9_000, micros: 1_000 * 3.75 + 8_000 * 15 });
  });

  it("counts no more prompt than fits, and no longer answer than the model allows", () => {
    expect(greatestCost(1_000_000, { ...price, contextWindow: 8_000, maxTokens: 10 })).toMatchObject({
      prompt: 8_000,
      leastTokens: 10,
    });
  });

  /** Known rates: four letters a token in prose, one to two tokens for a character of Chinese, 22 for this line of code. */
  it.each([
    ["ordinary text", "The quick brown fox jumps over the lazy dog. ".repeat(100), 1_000],
    ["Chinese", "敏捷的棕色狐狸跳过懒狗".repeat(100), 1_100],
    ["Russian", "Быстрая коричневая лиса ".repeat(100), 800],
    ["code", "if (a[i] !== b[i]) { return { ok: false, at: i }; }\n".repeat(50), 1_100],
  ])("covers what providers count for %s", (_, text, counted) => {
    const prompt = {
      system: "",
      messages: [{ role: "user" as const, content: [{ type: "text" as const, text }] }],
      tools: [],
    };
    expect(estimatePromptTokens(prompt)).toBeGreaterThan(counted);
  });

  it("counts system, tools, calls, results and images", () => {
    const none = { system: "", messages: [], tools: [] };
    const size = (more: object) => estimatePromptTokens({ ...none, ...more });
    expect(size({})).toBe(0);
    expect(size({ system: "x".repeat(300) })).toBe(150);
    expect(size({ tools: [{ name: "t", description: "d".repeat(300), parameters: {} }] })).toBeGreaterThan(100);
    const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
    expect(size({ messages: [{ role: "user", content: [image] }] })).toBe(1_604);
    const text = { type: "text" as const, text: "é" };
    const bytes = JSON.stringify(text).length + 1;
    expect(size({ messages: [{ role: "user", content: [text] }] })).toBe(4 + Math.ceil(bytes / 2));
  });
});

describe("the charge for a call", () => {
  const call = greatestCost(1_000, price);
  const reserved = costOf(call, call.maxTokens);
  const usage = {
    input: 900,
    output: 100,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 1_000,
    cost: { input: 0.0027, output: 0.0015, cacheRead: 0, cacheWrite: 0, total: 0.0042 },
  };
  const said = { type: "text" as const, text: "x".repeat(177) };
  const result = (more: Partial<ModelResult>): ModelResult => ({
    content: [],
    stopReason: "stop",
    api: "",
    provider: "p",
    model: "m",
    ...more,
  });
  const failed = (errorClass: "rate" | "auth" | "request" | "overflow" | "transient" | "aborted", more = {}) =>
    result({ error: { class: errorClass, message: "" }, stopReason: "error", ...more });

  it.each<[string, ModelResult, unknown]>([
    ["the provider's count", result({ usage }), { spend: { tokens: 1_000, micros: 4_200 }, estimated: false }],
    [
      "an estimate if the provider does not count",
      result({ content: [said] }),
      { spend: { tokens: 1_101, micros: 3_750 + 101 * 15 }, estimated: true },
    ],
    ["nothing if it was refused", failed("rate"), { spend: { tokens: 0, micros: 0 }, estimated: false }],
    ["nothing if it never began", failed("transient"), { spend: { tokens: 0, micros: 0 }, estimated: false }],
    ["the prompt if it was aborted", failed("aborted"), { spend: { tokens: 1_000, micros: 3_750 }, estimated: true }],
    [
      "the prompt and the received part of the answer if it broke off",
      failed("transient", { content: [said] }),
      { spend: { tokens: 1_101, micros: 3_750 + 101 * 15 }, estimated: true },
    ],
    [
      "the count and the received part of the answer if it broke off after the prompt was counted",
      failed("transient", {
        content: [said],
        usage: { ...usage, output: 1, totalTokens: 901, cost: { ...usage.cost, output: 0, total: 0.0027 } },
      }),
      { spend: { tokens: 1_001, micros: 2_700 + 101 * 15 }, estimated: true },
    ],
    [
      "also the usage of earlier attempts",
      result({ usage, alsoUsed: [usage] }),
      { spend: { tokens: 2_000, micros: 8_400 }, estimated: false },
    ],
    ["the whole reservation if the end is unknown", failed("aborted", { unheard: true }), "unknown"],
  ])("is %s", (_, ended, charged) => {
    expect(chargeFor(call, reserved, ended)).toEqual(charged);
  });

  it("is never more than the reservation, unless the provider counted more", () => {
    const long = { type: "text" as const, text: "x".repeat(1_000_000) };
    expect(chargeFor(call, reserved, failed("aborted", { content: [long] }))).toMatchObject({ spend: reserved });
    const dear = { ...usage, totalTokens: 50_000, cost: { ...usage.cost, total: 9 } };
    expect(chargeFor(call, reserved, result({ usage: dear }))).toMatchObject({
      spend: { tokens: 50_000, micros: 9_000_000 },
    });
  });

  it("is what the provider counted if that is more than was reserved, also for an answer that broke off", () => {
    const dear = { ...usage, output: 1, totalTokens: 50_000, cost: { ...usage.cost, output: 0, total: 9 } };
    expect(chargeFor(call, reserved, failed("transient", { content: [said], usage: dear }))).toEqual({
      ...{ spend: { tokens: 50_000, micros: 9_000_000 }, estimated: true },
    });
  });

  it("counts what was read from and written to the cache, at the highest price if the provider names none", () => {
    const { cost: _cost, ...bare } = {
      ...usage,
      input: 100,
      cacheRead: 200,
      cacheWrite: 300,
      output: 0,
      totalTokens: 600,
    };
    expect(chargeFor(call, reserved, failed("transient", { usage: bare }))).toEqual({
      ...{ spend: { tokens: 600, micros: 600 * 3.75 }, estimated: true },
    });
  });

  it("of an empty answer that ended well, without a count, is its prompt", () => {
    expect(chargeFor(call, reserved, result({}))).toEqual({
      ...{ spend: { tokens: 1_000, micros: 3_750 }, estimated: true },
    });
  });

  it("is the provider's count of an answer that broke off, if that is more than was received, rounded up", () => {
    const odd = greatestCost(1_000, { ...price, cost: { ...cost, output: 0.3 } });
    const counted = {
      ...usage,
      output: 101,
      totalTokens: 1_001,
      cost: { ...usage.cost, output: 0.0015, total: 0.0042 },
    };
    // The prompt cost 2,700; 101 tokens at 0.3 are 30.3.
    expect(chargeFor(odd, reserved, failed("transient", { usage: counted }))).toEqual({
      ...{ spend: { tokens: 1_001, micros: 4_200 }, estimated: true },
    });
    const cheap = { ...counted, cost: { ...usage.cost, output: 0, total: 0.0027 } };
    expect(chargeFor(odd, reserved, failed("transient", { usage: cheap }))).toMatchObject({ spend: { micros: 2_731 } });
    const { cost: _cost, ...bare } = cheap;
    const dear = greatestCost(1_000, { ...price, cost: { input: 0.001, output: 0, cacheRead: 0, cacheWrite: 0 } });
    expect(chargeFor(dear, reserved, failed("transient", { usage: bare }))).toMatchObject({ spend: { micros: 1 } });
  });

  it("of a part of an answer with a dear ending counts the part at the price of the model", () => {
    const counted = { ...usage, output: 1, totalTokens: 901, cost: { ...usage.cost, output: 0.001, total: 0.0037 } };
    expect(chargeFor(call, reserved, failed("transient", { content: [said], usage: counted }))).toMatchObject({
      spend: { micros: 2_700 + 101 * 15 },
    });
  });
});

it("a model without a known price costs no money, and its tokens are limited", () => {
  const call = greatestCost(1_000_000, UNKNOWN_PRICE);
  expect(call).toEqual({ prompt: 1_000_000, maxTokens: 8_192, leastTokens: 256, read: 0, write: 0 });
});

it("a message is measured once: it does not change", () => {
  const content = [{ type: "text" as const, text: "hello" }];
  const prompt = { system: "", tools: [], messages: [{ role: "user" as const, content }] };
  const before = estimatePromptTokens(prompt);
  content.push({ type: "text", text: "never counted" });
  expect(estimatePromptTokens(prompt)).toBe(before);
  const again = { ...prompt, messages: [{ role: "user" as const, content }] };
  expect(estimatePromptTokens(again)).toBeGreaterThan(before);
});

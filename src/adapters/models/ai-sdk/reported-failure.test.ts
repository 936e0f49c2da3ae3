/** What an error of the AI SDK says: the provider's answer, a mistake of the program, or nothing. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { reportedFailure } from "./reported-failure.ts";

const clock = virtualClock();
const callError = (fields: object): Error => Object.assign(new Error("said by the SDK"), fields);
const read = (error: unknown) => reportedFailure(error, clock);

describe("an error of a call", () => {
  test.each([
    [200, undefined],
    [299, undefined],
    [300, 300],
    [400, 400],
    [503, 503],
  ])("with the status %i reports %s: a success that cannot be read is a broken answer", (statusCode, status) => {
    expect(read(callError({ statusCode, responseBody: '{"error":{"message":"no"}}' }))?.status).toBe(status);
  });

  test("has the words of the response, or those of the SDK if the response has none", () => {
    const responseBody = '{"error":{"type":"bad","message":"no such field"}}';
    expect(read(callError({ statusCode: 400, responseBody }))?.error).toEqual({ code: "bad", text: "no such field" });
    expect(read(callError({ statusCode: 400, responseBody: "" }))?.error?.text).toBe("said by the SDK");
    expect(read(callError({ statusCode: 400 }))?.error?.text).toBe("said by the SDK");
  });

  test.each([
    ["the header, which comes first", { "retry-after": "7" }, '{"retryDelay":"3s"}', 7_000],
    ["the body", {}, '{"retryDelay":"3s"}', 3_000],
    ["neither", {}, "{}", undefined],
  ])("has the wait of %s", (_, responseHeaders, responseBody, wait) => {
    expect(read(callError({ statusCode: 429, responseHeaders, responseBody }))?.retryAfterMs).toBe(wait);
  });
});

describe("an error of the program", () => {
  test.each([
    ["AI_LoadAPIKeyError", "auth"],
    ["AI_LoadSettingError", "auth"],
    ["AI_NoSuchModelError", "request"],
    ["AI_UnsupportedFunctionalityError", "request"],
    ["AI_InvalidPromptError", "request"],
    ["AI_InvalidArgumentError", "request"],
  ])("%s has the class %s", (name, kind) => {
    expect(read(callError({ name }))).toEqual({ class: kind, error: { text: "said by the SDK" } });
  });

  test("has a text of limited length", () => {
    const error = Object.assign(new Error("x".repeat(5_000)), { name: "AI_NoSuchModelError" });
    expect(read(error)?.error?.text).toHaveLength(1_000);
  });

  test.each(["constructor", "toString", "__proto__"])("is not one that only has the name %s", (name) => {
    expect(read(callError({ name }))).toBeUndefined();
    expect(read({ name, error: { message: "no" } })).toEqual({ error: { text: "no" } });
  });
});

describe("any other error", () => {
  test.each([
    ["an exception", new Error("fetch failed")],
    ["nothing", undefined],
    ["null", null],
    ["a number", 7],
    ["an object without words", {}],
  ])("that is %s says nothing: the connection broke", (_, error) => {
    expect(read(error)).toBeUndefined();
  });

  test.each([
    ["a text", "overloaded", { error: { text: "overloaded" } }],
    ["JSON in a text", '{"error":{"type":"t","message":"m"}}', { error: { code: "t", text: "m" } }],
    ["an object of the provider", { type: "error", message: "m" }, { error: { code: "error", text: "m" } }],
  ])("that is %s is the provider's", (_, error, reported) => {
    expect(read(error)).toEqual(reported);
  });
});

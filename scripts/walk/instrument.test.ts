import { describe, expect, it } from "vitest";
import { instrument } from "./instrument.ts";

/** Executes an instrumented source. Returns its value and the number of function calls. */
function executed(source: string): { value: unknown; calls: number } {
  let calls = 0;
  const value = new Function("seen", instrument(source, "seen()"))(() => {
    calls += 1;
  });
  return { value, calls };
}

describe("instrument", () => {
  it.each([
    ["a function", "function f(a) { return a + 1; } return f(1);", 2, 1],
    ["an arrow function with a body", "const f = (a) => { return a + 1; }; return f(1);", 2, 1],
    ["an arrow function without a body", "const f = (a) => a + 1; return f(1);", 2, 1],
    ["arrow functions that return arrow functions", "const f = (a) => (b) => a + b; return f(1)(2);", 3, 2],
    ["arrow functions as arguments", "return [1, 2].map((n) => n * 2).filter((n) => n > 2)[0];", 4, 4],
    ["an arrow function that returns an object", "return (() => ({ a: [1, 2] }))().a.length;", 2, 1],
    ["conditions and default values", "const f = (a = () => 1) => a() ? a?.() ?? 3 : 4; return f();", 1, 3],
    ["an arrow function in a conditional expression", "const f = true ? () => 1 : () => 2; return f();", 1, 1],
    [
      "methods",
      "class A { #x = 1; get x() { return this.#x; } static make() { return new A(); } } return A.make().x;",
      1,
      2,
    ],
    ["statements", "for (const a of [1]) { if (a) { switch (a) { case 1: { return a; } } } }", 1, 0],
    [
      "templates and strings",
      "const f = (a) => `#{[a].map((b) => `{#{b}}`)} => {`; return f(1);".replaceAll("#", "$"),
      "{1} => {",
      2,
    ],
  ])("records calls and keeps the value: %s", (_, source, value, calls) => {
    expect(executed(source)).toEqual({ value, calls });
  });
});

import { beforeAll, describe, expect, it } from "vitest";
import { ALL } from "../kit/share.ts";
import { findTextFunctions, load } from "./find-text-functions.ts";
import { fuzzTexts, textCases } from "./fuzz-texts.ts";
import { measure } from "./text-cost.ts";
import {
  ARGUMENT_KEYS,
  argumentsOf,
  EXCEPTION_KEYS,
  exceptionOf,
  LIMIT_KEYS,
  MORE_CASES,
  type TextCase,
} from "./text-functions.ts";
import { WORST_TEXTS } from "./worst-texts.ts";

const found = findTextFunctions();

/** `npm test` tries a part of the texts that `npm run tool -- mutations` tries. */
const SHARE = ALL ? 1 : 4;

describe("the table of text functions", () => {
  it("finds every exported function whose first parameter is a text", () => {
    expect(found.length).toBeGreaterThan(150);
    for (const key of ["src/core/trim-chars.ts#trimChars", "src/engine/commands/read-chat-command.ts#readTyped"]) {
      expect(found.map((one) => one.key)).toContain(key);
    }
  });

  it("names only functions that exist", () => {
    const known = [...found.map(({ key }) => key), ...MORE_CASES.map(({ name }) => name)];
    const named = [...EXCEPTION_KEYS, ...ARGUMENT_KEYS, ...LIMIT_KEYS];
    expect(named.filter((key) => !known.includes(key))).toEqual([]);
  });

  it("has the arguments of every function: without them it would only fail fast", async () => {
    for (const one of found.filter((each) => exceptionOf(each) === undefined)) {
      const run = await load(one);
      try {
        expect(
          run("text", ...argumentsOf(one)),
          `${one.key} is asynchronous: add a case to MORE_CASES`,
        ).not.toBeInstanceOf(Promise);
      } catch (error) {
        expect(error, `${one.key} needs more arguments: add them to MORE_ARGUMENTS`).not.toBeInstanceOf(TypeError);
      }
    }
  });
});

describe("the measurement", () => {
  const spaces = WORST_TEXTS[0];
  const of = (run: (text: string) => unknown) => spaces && measure(run, spaces, 40_000);

  it("finds a function that reads the text again from every place", () => {
    expect(of((text) => /\s+$/.test(`${text}x`))?.isLinear).toBe(false);
  });

  it("accepts a linear function", () => {
    expect(of((text) => text.split("").reverse().join(""))?.isLinear).toBe(true);
  });
});

describe("every text function is linear", () => {
  let cases: readonly TextCase[];
  beforeAll(async () => {
    cases = await textCases();
  });

  // `npm run fuzz` tries every text, and a megabyte of the most expensive ones.
  it("on a share of the worst texts", () => {
    const options = { shortLength: 24_000, length: 24_000, longTexts: 0, every: 28 * SHARE };
    const problems = cases.map((one) => fuzzTexts(one, options)).filter(({ problem }) => problem !== undefined);
    expect(problems).toEqual([]);
  });
});

import { expect, it } from "vitest";
import { NOT_CORE, SELDOM } from "../src/adapters/tools/shown-tools.ts";
import { MAX_SMALL_TOKENS, MAX_TOKENS, problems, promptSize } from "./prompt-size.ts";
import { tools } from "./rights/rights-table.ts";

it("keeps the prompt and the tools of a default agent below their limit of tokens", () => {
  expect(problems()).toEqual([]);
  expect(promptSize("large").total).toBeLessThanOrEqual(MAX_TOKENS);
  expect(promptSize("small").total).toBeLessThanOrEqual(MAX_SMALL_TOKENS);
});

it("has only tools that exist in the table of seldom-used ones", () => {
  const known = tools.map(({ name }) => name);
  expect([...Object.keys(SELDOM), ...NOT_CORE].filter((name) => !known.includes(name))).toEqual([]);
});

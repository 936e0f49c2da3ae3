import { expect, it } from "vitest";
import { NOT_CORE, SELDOM } from "../src/adapters/tools/shown-tools.ts";
import type { Tool } from "../src/core/ports/tool.ts";
import { MAX_SMALL_TOKENS, MAX_TOKENS, problems, promptSize } from "./prompt-size.ts";
import { tools } from "./rights/rights-table.ts";

it("keeps the prompt and the tools of a default agent below their limit of tokens", () => {
  expect(problems()).toEqual([]);
  expect(promptSize("large").total).toBeLessThanOrEqual(MAX_TOKENS);
  expect(promptSize("small").total).toBeLessThanOrEqual(MAX_SMALL_TOKENS);
});

it("adds little for three MCP servers with forty tools each, whose tools are found by searching", () => {
  const long =
    "Does something with issues, pull requests and their comments, in a project that the caller names. ".repeat(6);
  const parameters = {
    type: "object",
    properties: { owner: { type: "string", description: long }, repo: { type: "string" } },
  };
  const mcp = ["github", "tickets", "files"].flatMap((server) =>
    Array.from(
      { length: 40 },
      (_, n) => ({ ...tools[0], name: `mcp__${server}__tool_${n}`, description: long, parameters }) as Tool,
    ),
  );
  const { total, hidden } = promptSize("large", {
    tools: () => mcp,
    isFor: () => true,
    summary: () => ", MCP servers (files, github, tickets)",
    untrustedFrom: () => undefined,
  });
  expect(hidden.filter(({ part }) => part.startsWith("mcp__"))).toHaveLength(120);
  expect(total).toBeLessThanOrEqual(3_500);
  expect(total - promptSize("large").total).toBeLessThan(30);
});

it("has only tools that exist in the table of seldom-used ones", () => {
  const known = tools.map(({ name }) => name);
  expect([...Object.keys(SELDOM), ...NOT_CORE].filter((name) => !known.includes(name))).toEqual([]);
});

import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import type { Tool } from "../../core/ports/tool.ts";
import { defineTool } from "../library/define-tool.ts";
import { checkTool } from "./check-tool.ts";

const input = z.object({ amount: z.number() });
const good = defineTool({ name: "pay", description: "Pays", input, execute: ({ amount }) => `paid ${amount}` });

describe("checkTool", () => {
  it("finds nothing in a tool that keeps the contract", async () => {
    const failing = defineTool({
      name: "fail",
      description: "Fails",
      input,
      execute() {
        throw new TypeError("always");
      },
    });
    for (const tool of [good, failing]) {
      expect(await checkTool({ tool, input: { amount: 5 }, bad: [{ amount: "5" }, 5] })).toEqual([]);
    }
  });

  test.each<[string, Partial<Tool>, RegExp]>([
    ["has no description", { description: " " }, /description/],
    ["takes anything", { input: z.unknown() }, /takes \{"amount":"5"\}/],
    ["refuses its input", { input: z.string() }, /refuses the input/],
    ["returns something else", { execute: async () => "text" as never }, /no blocks/],
    ["does not listen to the signal", { execute: hangs }, /aborted/],
  ])("finds a tool that %s", async (_, change, problem) => {
    const trial = { tool: { ...good, ...change }, input: { amount: 5 }, bad: [{ amount: "5" }], abortMs: 20 };
    expect((await checkTool(trial)).join("\n")).toMatch(problem);
  });
});

/** Answers the first call, and never the one that is aborted. */
function hangs(_: unknown, { signal }: Parameters<Tool["execute"]>[1]): ReturnType<Tool["execute"]> {
  const result = { content: [{ type: "text" as const, text: "ok" }] };
  return new Promise((resolve) => {
    setImmediate(() => {
      if (!signal.aborted) resolve(result);
    });
  });
}

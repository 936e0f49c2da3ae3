import { describe, expect, it } from "vitest";
import type { ToolBlock } from "./blocks.ts";
import type { CleanText } from "./clean-text.ts";
import { BlockRenderer, type Verbose } from "./render-block.ts";
import { themeOf } from "./theme.ts";

const result = (lines: number): CleanText =>
  Array.from({ length: lines }, (_, n) => `line ${n + 1}`).join("\n") as CleanText;

const call = (more: Partial<ToolBlock> = {}): ToolBlock => ({
  ...{ kind: "tool", key: "k", callId: "c", name: "read" as CleanText, input: 'path: "a.txt"' as CleanText },
  ...{ output: result(8), state: "done", at: 0, took: 1_500 },
  ...more,
});

const shown = (block: ToolBlock, verbose: Verbose): readonly string[] =>
  new BlockRenderer({ theme: themeOf({ NO_COLOR: "1" }), verbose, showThinking: false })
    .block(block, undefined, 60)
    .filter((line) => line !== "");

const HEAD = '  ✓ read 1.5 s  path: "a.txt"';
const lines = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => `    line ${from + n}`);

describe("a call", () => {
  it.each<[Verbose, readonly string[]]>([
    ["off", [HEAD]],
    ["on", [HEAD, ...lines(1, 6), "    … 2 more lines"]],
    ["full", [HEAD, '    path: "a.txt"', ...lines(1, 8)]],
  ])("with verbose %s", (verbose, expected) => {
    expect(shown(call(), verbose)).toEqual(expected);
  });

  it.each<[Verbose, readonly string[]]>([
    ["off", ["    line 1"]],
    ["on", lines(1, 2)],
    ["full", ['    path: "a.txt"', ...lines(1, 2)]],
  ])("that failed says why, with verbose %s", (verbose, expected) => {
    const failed = call({ state: "failed", output: result(2) });
    expect(shown(failed, verbose)).toEqual([HEAD.replace("✓", "✗"), ...expected]);
  });

  it("that runs has one line, and a huge result does not say how many lines it has", () => {
    const running = call({ state: "running", output: undefined, took: undefined });
    expect(shown(running, "on")).toEqual(['  • read  path: "a.txt"']);
    expect(shown(call({ output: result(10_000) }), "on")).toEqual([HEAD, ...lines(1, 6), "    … more lines"]);
  });
});

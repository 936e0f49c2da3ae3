import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { CallRecord } from "../../core/run/run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { intendNext } from "./intend.ts";

const ports = {
  tools: {
    list: () => [],
    // Lower case may run in parallel, upper case may not, any other name is an unknown tool.
    find: (_agent: unknown, name: string) => (/\w/.test(name) ? { parallel: name === name.toLowerCase() } : undefined),
  },
} as unknown as RunPorts;

/** `a` asked, `a*` intended, `a.` done. */
const calls = (text: string): CallRecord[] =>
  text.split(" ").map((word, index) => ({
    callId: String(index),
    name: word[0] ?? "",
    arguments: {},
    replay: "safe",
    state: word.endsWith("*") ? "intended" : word.endsWith(".") ? "done" : "asked",
  }));
const written = (records: readonly CallRecord[]): string =>
  records.map(({ name, state }) => `${name}${state === "intended" ? "*" : state === "done" ? "." : ""}`).join(" ");

describe("intendNext", () => {
  for (const [before, after] of [
    ["A", "A*"],
    ["a", "a*"],
    ["a b c", "a* b* c*"],
    ["A b c", "A* b c"],
    ["a b C d", "a* b* C d"],
    ["a. b. C d", "a. b. C* d"],
    ["A. b c", "A. b* c*"],
    ["A* b c", "A* b c"],
    ["a. b* c", "a. b* c"],
    ["A B", "A* B"],
    ["! a", "!* a*"],
    ["a. b.", "a. b."],
    ["a B. c", "a* B. c*"],
  ] as const) {
    it(`${before} → ${after}`, () => {
      expect(written(intendNext(ports, {} as AgentRecord, calls(before)))).toBe(after);
    });
  }
});

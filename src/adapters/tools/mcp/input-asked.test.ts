import { expect, it } from "vitest";
import type { ToolContext } from "../../../core/ports/tool.ts";
import { inputAsked, keptInputs, MAX_AGE_MS, MAX_OPEN, type StoredInput } from "./input-asked.ts";

const input = (id: string, at: number, size = 0): StoredInput => ({
  ...{ id, at, server: "bank", tool: "transfer", args: {}, questions: [], state: "x".repeat(size) },
});
const ids = (inputs: readonly StoredInput[]): readonly string[] => inputs.map(({ id }) => id);

it("keeps the newest questions of an agent: not too many, not too old, not too large", () => {
  expect(ids(keptInputs([input("old", 0), input("new", 10)], MAX_AGE_MS))).toEqual(["new"]);
  const many = Array.from({ length: 2 * MAX_OPEN }, (_, n) => input(`q${n}`, n));
  expect(ids(keptInputs(many, 100))).toEqual(ids(many.slice(MAX_OPEN)));
  const large = Array.from({ length: 8 }, (_, n) => input(`q${n}`, n, 99_000));
  expect(ids(keptInputs(large, 100))).toEqual(["q3", "q4", "q5", "q6", "q7"]);
});

it("says how many unanswered questions go with a new one, and replaces the one that was answered", () => {
  const now = MAX_AGE_MS + 5;
  const open = { inputs: [input("old", 0), input("kept", 10), input("answered", 20)], now };
  const context = { runId: "run", callId: "call", agentId: "agent" } as unknown as ToolContext;
  const asked = { inputRequests: { pin: { method: "elicitation/create", params: { message: "Which PIN?" } } } };
  const call = { tool: "transfer", args: {}, given: { answers: {}, ref: "answered" } };
  const { content, ops } = inputAsked("bank", call, asked, context, open);
  expect(JSON.stringify(content)).toContain("Earlier questions that no one has answered are dropped: 1.");
  const [op] = ops ?? [];
  const value = op?.op === "fact.put" ? (op.value ?? "") : "";
  expect(op).toMatchObject({ op: "fact.put", key: "mcp-input:agent" });
  const stored = JSON.parse(value) as { agentId: string; inputs: StoredInput[] };
  expect([stored.agentId, ids(stored.inputs)]).toEqual(["agent", ["kept", "run.call"]]);
});

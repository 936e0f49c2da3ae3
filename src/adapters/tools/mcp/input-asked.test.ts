import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../../core/ports/tool.ts";
import { forgetInput, givenInput, inputAsked, keptInputs } from "./input-asked.ts";

type StoredInput = Parameters<typeof givenInput>[0];
const WEEK = 7 * 24 * 3_600_000;

const input = (id: string, at: number, size = 0): StoredInput => ({
  ...{ id, at, server: "bank", tool: "transfer", args: {}, questions: [], state: "x".repeat(size) },
});
const ids = (inputs: readonly StoredInput[]): readonly string[] => inputs.map(({ id }) => id);

it("keeps the newest questions of an agent: not too many, not too old, not too large", () => {
  expect(ids(keptInputs([input("old", 0), input("new", 10)], WEEK))).toEqual(["new"]);
  const many = Array.from({ length: 20 }, (_, n) => input(`q${n}`, n));
  expect(ids(keptInputs(many, 100))).toEqual(ids(many.slice(10)));
  const large = Array.from({ length: 8 }, (_, n) => input(`q${n}`, n, 99_000));
  expect(ids(keptInputs(large, 100))).toEqual(["q3", "q4", "q5", "q6", "q7"]);
});

it("says how many unanswered questions go with a new one, and replaces the one that was answered", () => {
  const now = WEEK + 5;
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

describe("a question", () => {
  const context = { runId: "run", callId: "call", agentId: "agent" } as unknown as ToolContext;
  const ask = (asked: Parameters<typeof inputAsked>[2]) => {
    const { content, ops, ...rest } = inputAsked("bank", { tool: "transfer", args: { to: 1 } }, asked, context, {
      ...{ inputs: [], now: 5 },
    });
    const [op] = ops ?? [];
    const { inputs } = JSON.parse(op?.op === "fact.put" ? (op.value ?? "") : "") as { inputs: StoredInput[] };
    const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
    return { text, stored: inputs[0] as StoredInput, rest };
  };
  const elicit = (params: object) => ({ q: { method: "elicitation/create", params } });

  it("shows its text, its address and its fields, each not too long", () => {
    const properties = { pin: { type: "string" } };
    const { text, stored, rest } = ask({
      inputRequests: elicit({ message: "PIN?", requestedSchema: { properties }, url: "https://bank.example/" }),
      requestState: "state",
    });
    expect(text).toContain('PIN?\nOpen: https://bank.example/\nFields: {"pin":{"type":"string"}}');
    expect(text).toContain('Then call mcp_answer with ref "run.call"');
    expect(text).not.toContain("dropped");
    expect(rest).toEqual({ untrusted: { from: "mcp:bank" }, found: ["mcp_answer"] });
    expect(stored).toEqual({
      ...{ id: "run.call", at: 5, server: "bank", tool: "transfer", args: { to: 1 }, state: "state" },
      questions: [{ key: "q", message: "PIN?" }],
    });
    const long = ask({
      inputRequests: elicit({
        message: "x".repeat(9_000),
        url: "y".repeat(9_000),
        requestedSchema: { properties: { z: "z".repeat(9_000) } },
      }),
    });
    expect(long.text.length).toBeLessThan(8_000);
    expect(long.stored.questions[0]?.message).toHaveLength(2_000);
  });

  it.each<[string, unknown]>([
    ["of another method", { method: "sampling/createMessage", params: { message: "Say it." } }],
    ["that is nothing", null],
  ])("%s is told as one that cannot be answered", (_, request) => {
    expect(ask({ inputRequests: { q: request } }).text).toContain("which Rookery does not offer.");
  });

  it("is refused with a state that is too large", () => {
    expect(ask({ questions: [{ message: "a" }], requestState: "x".repeat(100_000) }).stored.state).toHaveLength(
      100_000,
    );
    expect(() => ask({ questions: [{ message: "a" }], requestState: "x".repeat(100_001) })).toThrow("too large");
  });

  it("gets the answers by its keys, or during the call if it has none", () => {
    const stored = { ...input("r", 0), state: "s", questions: [{ key: "a", message: "" }, { message: "" }] };
    const answers = { pin: "1" };
    expect(givenInput(stored, answers)).toEqual({
      ...{ answers, state: "s", keys: ["a"], ref: "r" },
      responses: { a: { action: "accept", content: answers } },
    });
    expect(givenInput({ ...stored, questions: [{ message: "" }] }, answers).keys).toBeUndefined();
  });

  it("is forgotten alone, with those that are too old", () => {
    const open = { inputs: [input("old", 0), input("a", 10), input("b", 10)], now: WEEK };
    const { value } = forgetInput("agent", open, "a");
    expect(ids((JSON.parse(value ?? "") as { inputs: StoredInput[] }).inputs)).toEqual(["b"]);
  });
});

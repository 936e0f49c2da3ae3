import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { inTurn } from "../../../test/kit/model.ts";
import { aroundReply, formatReasoningMessage } from "./around-reply.ts";

const counted = { input: 1_234, output: 56, cacheRead: 0, cacheWrite: 0, totalTokens: 1_290 };
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.0234 };

describe("aroundReply", () => {
  it.each([
    [{}, {}],
    [{ responseUsage: "off", reasoningLevel: "off" }, {}],
    [{ responseUsage: "on" }, { behind: "Usage: 1.2k in / 56 out · est $0.02" }],
    [{ responseUsage: "tokens" }, { behind: "Usage: 1.2k in / 56 out · est $0.02" }],
    [{ responseUsage: "full" }, { behind: "Usage: 1.2k in / 56 out · est $0.02 · session k" }],
    [{ reasoningLevel: "on" }, { before: "Reasoning:\n_first_\n\n_then_" }],
    [{ reasoningLevel: "reasoning" }, { before: "Reasoning:\n_first_\n\n_then_" }],
    [{ reasoningLevel: "stream" }, {}],
  ] as const)("%j: %j", (state, expected) => {
    const usage = { ...counted, cost };
    expect(aroundReply(state, { reasoning: " first\n\nthen\n", usage, sessionKey: "k" })).toEqual(expected);
  });

  it.each([
    [undefined, ""],
    [0, ""],
    [0.0099, " · est $0.0099"],
    [0.01, " · est $0.01"],
    [1.5, " · est $1.50"],
  ])("a cost of %s dollars is written %j", (total, text) => {
    const usage = { ...counted, cost: total === undefined ? undefined : { ...cost, total } };
    const { behind } = aroundReply({ responseUsage: "on" }, { usage, sessionKey: "k" });
    expect(behind).toBe(`Usage: 1.2k in / 56 out${text}`);
  });

  it("cuts thinking that is longer than anyone reads", () => {
    expect(formatReasoningMessage("x".repeat(200_000))).toBe(`Reasoning:\n_${"x".repeat(200_000)}_`);
    expect(formatReasoningMessage("x".repeat(200_001))).toBe(`Reasoning:\n_${"x".repeat(200_000)}…_`);
  });

  it("adds nothing without thinking or usage", () => {
    expect(aroundReply({ responseUsage: "full", reasoningLevel: "on" }, { sessionKey: "k" })).toEqual({});
    expect(formatReasoningMessage(" \n")).toBe("");
  });

  it.each([
    [0, "0"],
    [999, "999"],
    [1_000, "1.0k"],
    [12_345, "12k"],
    [1_250_000, "1.3m"],
    [9_999, "10.0k"],
    [10_000, "10k"],
    [999_999, "1000k"],
    [1_000_000, "1.0m"],
    [-5, "0"],
    [0.6, "1"],
    [Number.NaN, "0"],
  ])("%d tokens are written %s", (input, text) => {
    const { behind } = aroundReply({ responseUsage: "on" }, { usage: { ...counted, input }, sessionKey: "k" });
    expect(behind).toBe(`Usage: ${text} in / 56 out`);
  });

  it("is sent with the reply, but is not in the history, in the result, or with a suppressed reply", async () => {
    const thought = { type: "thinking", thinking: "hm" } as const;
    const text = (words: string) => ({ type: "text", text: words }) as const;
    const engine = await TestEngine.open({
      script: inTurn("first", { content: [thought, text("second")] }, { content: [thought, text("NO_REPLY")] }),
    });
    await engine.tell("one");
    await engine.system.sessions.patch(await engine.agentId(), { responseUsage: "tokens", reasoningLevel: "on" });
    await engine.settle();
    const answer = engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "two" } });
    await engine.settle();
    expect((await answer).result?.payloads).toEqual([{ text: "second" }]);
    await engine.tell("three");
    expect(engine.shown()).toEqual(["first", "Reasoning:\n_hm_", "second\n\nUsage: 10 in / 5 out"]);
    expect((await engine.deliveries()).map(({ state }) => state)).toEqual(["sent", "sent", "sent", "suppressed"]);
    expect(JSON.stringify(await engine.entries())).not.toContain("Usage:");
  });
});

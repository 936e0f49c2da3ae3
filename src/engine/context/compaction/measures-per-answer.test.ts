/** How often each measure against a context that is too large is tried, and what a run does with those that failed. */
import { describe, expect, it } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../../test/kit/engine.ts";
import { failure, lastText, type ModelCall, type Reply } from "../../../../test/kit/model.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../../core/history/compaction-settings.ts";
import { SUMMARY_SYSTEM_PROMPT } from "./summary-prompt.ts";

const isSummaryCall = ({ request }: ModelCall): boolean => request.system === SUMMARY_SYSTEM_PROMPT;
const said = (text: string): Reply => ({ content: [{ type: "text", text }], usage: undefined });
const words = (n: number): string => "word ".repeat(n);
const asks = (id: number, args: Record<string, unknown> = {}): Reply => ({
  ...{ content: [{ type: "toolCall", id: `call-${id}`, name: "read", arguments: args }], stopReason: "tool_calls" },
  usage: undefined,
});

/** Critical at 900, emergency at 1,000. With a budget nothing is summarised in the background. */
function open({ contextWindow = 1_000, ...options }: TestEngineOptions & Partial<ContextLimits>): Promise<TestEngine> {
  const limits: ContextLimits = {
    ...DEFAULT_CONTEXT_LIMITS,
    ...{ contextWindow, reserveTokens: 0, reserveTokensFloor: 0 },
    memoryFlush: { ...DEFAULT_CONTEXT_LIMITS.memoryFlush, enabled: false },
  };
  const settings = { budgets: { agent: { tokens: 1_000_000_000 } } };
  return TestEngine.open({ ...options, settings, system: { contextLimits: () => limits } });
}
const kinds = async (engine: TestEngine): Promise<readonly string[]> =>
  (await engine.entries())
    .filter(({ type }) => type === "compaction")
    .map(({ details }) => (details as { kind: string }).kind);

describe("a summary that failed", () => {
  it("is not paid for again while the context stays about as large, and is when it has grown", async () => {
    let summaries = 0;
    let output = 40;
    const engine = await open({
      tools: { read: { maxOutput: 10_000, execute: () => "o".repeat(output) } },
      script: (call) => {
        if (isSummaryCall(call)) {
          summaries += 1;
          return failure("auth");
        }
        if (!lastText(call.request).startsWith("work")) return said(words(60));
        const results = call.request.messages.filter(({ role }) => role === "tool").length;
        if (results === 3) output = 240;
        return results < 4 ? asks(call.n) : said("done");
      },
    });
    for (let n = 1; n <= 5; n++) await engine.tell(`q${n} ${words(60)}`);
    expect(summaries).toBe(0);
    await engine.tell(`work ${words(120)}`);
    expect(engine.shown().at(-1)).toBe("done");
    expect((await engine.runs()).at(-1)?.outcome).toBe("ok");
    expect(summaries).toBe(2);
  });

  it("is not tried again between two refusals of the same request; the other measures are", async () => {
    let summaries = 0;
    let refusals = 0;
    const engine = await open({
      contextWindow: 100_000,
      tools: { read: { maxOutput: 10_000, execute: () => "o".repeat(6_000) } },
      script: (call) => {
        if (isSummaryCall(call)) {
          summaries += 1;
          return failure("auth");
        }
        if (call.request.messages.at(-1)?.role === "user" && lastText(call.request).startsWith("look"))
          return asks(call.n);
        if (lastText(call.request, "tool") !== "" && refusals < 2) {
          refusals += 1;
          return failure("overflow");
        }
        return said(words(60));
      },
    });
    await engine.tell(`q1 ${words(60)}`);
    await engine.tell(`q2 ${words(60)}`);
    await engine.tell("look");
    expect(refusals).toBe(2);
    expect((await engine.runs()).at(-1)?.outcome).toBe("ok");
    expect(summaries).toBe(1);
    expect(await kinds(engine)).toEqual(["truncate", "prune"]);
  });
});

describe("a context that the provider refuses", () => {
  it("is sent again if one measure made it smaller, though the others found nothing to leave out", async () => {
    let refusals = 0;
    const engine = await open({
      contextWindow: 100_000,
      tools: { read: { maxOutput: 10_000, execute: () => "o".repeat(6_000) } },
      script: (call) => {
        if (isSummaryCall(call)) return failure("auth");
        // The call itself is most of the context: no measure can cut it.
        if (call.request.messages.at(-1)?.role === "user") return asks(call.n, { about: words(2_000) });
        return refusals++ === 0 ? failure("overflow") : said("done");
      },
    });
    await engine.tell("look");
    expect(engine.shown().at(-1)).toBe("done");
    expect(await kinds(engine)).toEqual(["truncate"]);
    expect((await engine.runs()).at(-1)?.outcome).toBe("ok");
  });
});

/** Runs that outgrow their window several times. The provider is strict: it counts, and refuses what exceeds its window. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import type { ModelCall, Reply } from "../../../test/kit/model.ts";
import { failure } from "../../../test/kit/model.ts";
import { tries } from "../../../test/kit/share.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import type { ModelRequest } from "../../core/ports/model.ts";
import { estimateMessages, estimateText, estimateTools } from "../context/compaction/estimate-tokens.ts";
import { SUMMARY_SYSTEM_PROMPT } from "../context/compaction/summary-prompt.ts";

const SUMMARY = "## Goal\nto test\n\n## Progress\n- done\n\n## Original Request\nx\n\n## Early Progress\ny";
const isSummaryCall = ({ request }: ModelCall): boolean => request.system === SUMMARY_SYSTEM_PROMPT;
const sizeOf = ({ system, messages, tools }: ModelRequest): number =>
  estimateText(system) + estimateTools(tools) + estimateMessages(messages);

/** One round of tool calls: the size of each result, in tokens. */
type Round = readonly number[];

interface LongRun extends TestEngineOptions {
  readonly rounds: readonly Round[];
  readonly limits?: Partial<ContextLimits>;
  /** The window that the provider really has. */
  readonly window?: number;
  readonly summary?: (call: ModelCall) => Reply | Promise<Reply>;
}

/** A model that asks for one round after another and then says how many results it was given. */
function open({ rounds, limits, window = 200_000, summary = () => said(SUMMARY), ...options }: LongRun) {
  let round = 0;
  let overflows = 0;
  const script = (call: ModelCall): Reply | Promise<Reply> => {
    const size = sizeOf(call.request);
    if (size > window) {
      overflows += 1;
      return failure("overflow");
    }
    const usage = { input: size, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: size };
    if (isSummaryCall(call)) return summary(call);
    const asked = rounds[round];
    round += 1;
    if (!asked) return { content: [{ type: "text", text: "all read" }], usage };
    const content = asked.map((tokens, index) => ({
      type: "toolCall" as const,
      id: `call_${round}_${index}`,
      name: "read",
      arguments: { tokens },
    }));
    return { content, stopReason: "tool_calls", usage };
  };
  const bounds = {
    ...DEFAULT_CONTEXT_LIMITS,
    memoryFlush: { ...DEFAULT_CONTEXT_LIMITS.memoryFlush, enabled: false },
    ...limits,
  };
  const engine = TestEngine.open({
    ...options,
    script,
    tools: {
      read: {
        parallel: true,
        maxOutput: 10_000_000,
        execute: ({ tokens }) => "o".repeat(4 * Number(tokens)),
      },
    },
    system: { contextLimits: () => bounds, ...options.system },
  });
  return engine.then((one) => ({ engine: one, overflows: () => overflows }));
}

const said = (text: string): Reply => ({ content: [{ type: "text", text }], usage: undefined });

const lines = async (engine: TestEngine) =>
  (await engine.entries()) as {
    type: string;
    role?: string;
    tokensBefore?: number;
    details?: { kind: string; tokensAfter: number };
  }[];

/** The kinds of the compactions between each two assistant entries. */
async function gaps(engine: TestEngine): Promise<string[][]> {
  const found: string[][] = [[]];
  for (const { type, role, details } of await lines(engine)) {
    if (type === "message" && role === "assistant") found.push([]);
    if (type === "compaction" && details) found.at(-1)?.push(details.kind);
  }
  return found;
}

/** Each measure at most once between two assistant entries, and each made the context smaller (L10). */
async function expectLawful(engine: TestEngine): Promise<number> {
  let count = 0;
  for (const gap of await gaps(engine)) {
    expect(new Set(gap).size).toBe(gap.length);
    count += gap.length;
  }
  for (const { type, tokensBefore = 0, details } of await lines(engine)) {
    if (type === "compaction") expect(details?.tokensAfter).toBeLessThan(tokensBefore);
  }
  return count;
}

describe("a run with 90 results of 10,000 tokens in a window of 200,000", () => {
  const rounds = Array.from({ length: 90 }, () => [10_000]);

  it("succeeds", async () => {
    const { engine, overflows } = await open({ rounds });
    await engine.tell("read everything");
    expect(engine.shown()).toEqual(["all read"]);
    expect((await engine.runs())[0]).toMatchObject({ outcome: "ok", body: { iterations: 91 } });
    expect(engine.executions).toHaveLength(90);
    expect(overflows()).toBe(0);
    expect(await expectLawful(engine)).toBe(5);
  });

  it("succeeds if the provider's window is half of what the program believes: it refuses several times", async () => {
    const { engine, overflows } = await open({ rounds, window: 100_000 });
    await engine.tell("read everything");
    expect(engine.shown()).toEqual(["all read"]);
    expect(overflows()).toBeGreaterThan(5);
    expect(await expectLawful(engine)).toBeLessThanOrEqual(2 * overflows());
  });

  it("succeeds if no summary can be had", async () => {
    const { engine } = await open({ rounds, summary: () => failure("request") });
    await engine.tell("read everything");
    expect(engine.shown()).toEqual(["all read"]);
    await expectLawful(engine);
  });

  it("tries a failed summary again only after the context has grown or become smaller", async () => {
    let asked = 0;
    // The results are too short to be cut: the context stays above its critical limit.
    const short = Array.from({ length: 300 }, () => [20]);
    const { engine } = await open({
      rounds: short,
      window: 8_000,
      limits: { contextWindow: 8_000, emergencyContextLimit: 8_000 },
      summary: () => {
        asked += 1;
        return failure("request");
      },
    });
    await engine.tell("read everything");
    expect(engine.shown()).toEqual(["all read"]);
    await expectLawful(engine);
    // At 6,000 tokens, at every 400 more, and beyond the limit: not before each of about 80 turns above 6,000.
    expect(asked).toBeGreaterThan(1);
    expect(asked).toBeLessThan(15);
  });

  it.each(["before", "after"] as const)("resumes if it dies %s any of its compactions", async (moment) => {
    const { engine } = await open({ rounds });
    const killed = new Set<number>();
    let nth = 0;
    await engine.say("read everything");
    do {
      if (!engine.alive) await engine.reboot();
      // Dies once at each compaction.
      engine.onCommit = ({ site }) => {
        if (site !== "compact") return "go";
        const dies = !killed.has(nth);
        killed.add(nth);
        if (!dies || moment === "after") nth += 1;
        return dies ? `die-${moment}` : "go";
      };
      await engine.settle();
    } while (!engine.alive);
    expect(killed.size).toBe(5);
    expect(engine.shown()).toEqual(["all read"]);
    expect(await expectLawful(engine)).toBe(5);
  });
});

describe("a run of any length", () => {
  const WINDOW = 6_000;
  /** Results of one round that are together up to four windows; each one fits. */
  const round = fc.oneof(
    fc.array(fc.integer({ min: 0, max: 600 }), { minLength: 1, maxLength: 6 }),
    fc.array(fc.integer({ min: 0, max: 3_800 }), { minLength: 1, maxLength: 6 }),
    fc.array(fc.constant(450), { minLength: 20, maxLength: 40 }),
  );

  it("never ends with an overflow while each of its entries fits, and compacts a bounded number of times", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(round, { minLength: 1, maxLength: 15 }),
        fc.constantFrom(WINDOW, WINDOW * 0.8),
        fc.array(fc.constantFrom("good", "bloats", "empty", "request", "overflow"), { minLength: 1, maxLength: 4 }),
        fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
        async (rounds, window, manners, dies) => {
          let summaries = 0;
          const { engine } = await open({
            rounds,
            window,
            limits: { contextWindow: WINDOW, emergencyContextLimit: WINDOW },
            summary: ({ request }) => {
              const manner = manners[summaries++ % manners.length];
              if (manner === "good") return said(SUMMARY);
              if (manner === "empty") return said(" ");
              if (manner === "bloats") return said(`${SUMMARY} ${"x".repeat(sizeOf(request))}`);
              return failure(manner === "overflow" ? "overflow" : "request");
            },
          });
          let commits = 0;
          engine.onCommit = ({ owner }) => (owner?.run && ++commits === dies ? "die-after" : "go");
          await engine.tell("read everything");
          if (!engine.alive) await engine.restart();
          expect(engine.shown()).toEqual(["all read"]);
          const answers = rounds.length + 1;
          expect(await expectLawful(engine)).toBeLessThanOrEqual(4 * answers);
          expect(summaries).toBeLessThanOrEqual(12 * answers);
        },
      ),
      { numRuns: tries(20), seed: 17, endOnFailure: true },
    );
  });
});

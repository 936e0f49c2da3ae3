import { describe, expect, it } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { failure, lastText, type ModelCall, type Reply, stall } from "../../../../test/kit/model.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../../core/history/compaction-settings.ts";
import type { RunId } from "../../../core/ids.ts";
import type { RunEvent } from "../../runtime/run-events.ts";
import { compactSession } from "./compact-session.ts";
import { SUMMARY_SYSTEM_PROMPT } from "./summary-prompt.ts";

const isSummaryCall = ({ request }: ModelCall): boolean => request.system === SUMMARY_SYSTEM_PROMPT;
const SUMMARY = "## Goal\nto test\n\n## Progress\n- done\n\n## Original Request\nx\n\n## Early Progress\ny";

/** A window of 500 tokens: critical at 375, 125 kept. */
const small: ContextLimits = {
  ...DEFAULT_CONTEXT_LIMITS,
  contextWindow: 500,
  memoryFlush: { ...DEFAULT_CONTEXT_LIMITS.memoryFlush, enabled: false },
};

/** The provider does not count, so sizes are estimated. */
const said = (text: string): Reply => ({ content: [{ type: "text", text }], usage: undefined });

function open(options: TestEngineOptions & { limits?: Partial<ContextLimits> } = {}): Promise<TestEngine> {
  const { limits, ...rest } = options;
  // With a budget nothing is summarised in the background, so these tests cover the run alone.
  const settings = { budgets: { agent: { tokens: 1_000_000_000 } } };
  return TestEngine.open({
    ...rest,
    settings,
    system: { contextLimits: () => ({ ...small, ...limits }), ...rest.system },
  });
}

const compactions = async (engine: TestEngine) => (await engine.entries()).filter(({ type }) => type === "compaction");
const words = (n: number): string => "word ".repeat(n);

describe("a context at its critical limit", () => {
  it("is summarised before the next turn, which gets the summary and the last messages", async () => {
    const engine = await open({
      script: (call) => said(isSummaryCall(call) ? SUMMARY : `answer ${lastText(call.request)}`),
    });
    for (let n = 1; n <= 6; n++) await engine.tell(`question ${n} ${words(40)}`);
    const [compaction, ...more] = await compactions(engine);
    expect(more).toEqual([]);
    expect(compaction).toMatchObject({
      summary: expect.stringContaining("## Goal"),
      details: { kind: "summary", reason: "critical", provider: "scripted", model: "scripted-1" },
    });
    expect((compaction as never as { details: { tokensAfter: number } }).details.tokensAfter).toBeLessThan(
      compaction?.tokensBefore as number,
    );
    expect(engine.shown().at(-1)).toContain("answer question 6");
    const sent = engine.sentBytes.at(-1) ?? "";
    expect(sent).toContain("to test");
    expect(sent).not.toContain("question 1 ");
    expect(sent).toContain("question 6 ");
    expect((await engine.store.agent(await engine.agentId()))?.state.compactionCount).toBe(1);
    // History still holds every message.
    expect(await engine.transcript()).toHaveLength(12);
  });

  it("is reported while it is compacted: by the run's state, by events and in the log", async () => {
    const hold = gate<Reply>();
    const engine = await open({
      script: (call) => (isSummaryCall(call) ? stall(call, hold.promise) : said(words(60))),
    });
    const events: RunEvent[] = [];
    engine.system.events.listen((event) => events.push(event));
    for (let n = 1; n <= 3; n++) await engine.tell(`q${n} ${words(60)}`);
    const runId = (await engine.runs()).at(-1)?.id as RunId;
    expect(await engine.system.runs.state(runId)).toBe("compacting");
    hold.open(said(SUMMARY));
    await engine.settle();
    const about = events.filter(({ type }) => type.startsWith("compaction"));
    expect(about.map(({ type }) => type)).toEqual(["compaction_start", "compaction_end"]);
    expect(about[1]).toMatchObject({
      compacted: true,
      text: expect.stringMatching(/\d+ → \d+ tokens, summarised, .*kept.*why: critical limit/),
    });
    expect(engine.logged("info")).toContain("the context was compacted");
  });

  it("builds the same bytes after a restart", async () => {
    const engine = await open({ script: (call) => said(isSummaryCall(call) ? SUMMARY : words(50)) });
    for (let n = 1; n <= 6; n++) await engine.tell(`question ${n} ${words(40)}`);
    await engine.tell("short");
    const before = engine.sentBytes.at(-1) ?? "";
    await engine.restart();
    await engine.tell("next");
    expect(engine.sentBytes.at(-1)?.startsWith(before.slice(0, -1))).toBe(true);
  });

  it("is not compacted if compaction is off", async () => {
    const engine = await open({ limits: { enabled: false }, script: () => said(words(50)) });
    for (let n = 1; n <= 8; n++) await engine.tell(`question ${n} ${words(40)}`);
    expect(await compactions(engine)).toEqual([]);
  });

  it("is detected by the provider's count, not by the estimate", async () => {
    const usage = { input: 390, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 395 };
    const engine = await open({
      script: (call) => (isSummaryCall(call) ? said(SUMMARY) : { content: [{ type: "text", text: words(30) }], usage }),
    });
    await engine.tell(`one ${words(30)}`);
    expect(await compactions(engine)).toEqual([]);
    await engine.tell(`two ${words(30)}`);
    expect(await compactions(engine)).toMatchObject([{ tokensBefore: expect.any(Number) }]);
    expect((await compactions(engine))[0]?.tokensBefore).toBeGreaterThan(400);
  });
});

describe("a summary", () => {
  const cases: readonly [string, Reply][] = [
    ["is empty", said("  ")],
    ["continues the conversation", said("Certainly! The next thing to do is to book the flight.")],
    ["is not smaller", said(`${SUMMARY}\n${words(2_000)}`)],
    ["fails", failure("auth")],
  ];
  it.each(cases)(
    "that %s is not used: the messages stay, tool outputs are cut, and the run continues",
    async (_, summary) => {
      let asked = 0;
      const engine = await open({
        limits: { contextWindow: 1_000 },
        tools: { read: { execute: () => "o".repeat(3_500) } },
        script: (call) => {
          if (isSummaryCall(call)) {
            asked += 1;
            return summary;
          }
          const wants = lastText(call.request).startsWith("look") && call.request.messages.at(-1)?.role === "user";
          return wants ? { ...{ call: [{ name: "read" }] }, usage: undefined } : said("seen");
        },
      });
      await engine.tell(words(20));
      await engine.tell("look");
      expect(engine.shown().at(-1)).toBe("seen");
      expect((await compactions(engine)).map(({ details }) => (details as { kind: string }).kind)).toEqual([
        "truncate",
      ]);
      expect(asked).toBeLessThanOrEqual(2);
    },
  );
});

it("a summary that failed or was not used is counted in the usage of its run: it was paid for", async () => {
  const usage = { input: 100, output: 7, cacheRead: 0, cacheWrite: 0, totalTokens: 107 };
  let refusals = 0;
  const engine = await open({
    script: (call) => {
      if (!isSummaryCall(call)) return said(words(50));
      // The first portion is too large for the provider, then every answer is empty.
      return refusals++ === 0 ? { ...failure("overflow"), usage } : { content: [{ type: "text", text: "" }], usage };
    },
  });
  for (let n = 1; n <= 4; n++) await engine.tell(`q${n} ${words(40)}`);
  expect(await compactions(engine)).toEqual([]);
  expect(refusals).toBe(3);
  expect((await engine.runs()).at(-1)?.body.usage).toMatchObject({ input: 300, output: 21 });
});

describe("a context that cannot be made to fit", () => {
  it("ends the run with a message to the person, and the next message can be answered", async () => {
    const engine = await open({ script: (call) => said(isSummaryCall(call) ? SUMMARY : "fine") });
    await engine.tell("hello");
    await engine.tell(words(2_000));
    expect(engine.shown().at(-1)).toMatch(/^Context overflow: prompt too large/);
    expect((await engine.runs()).at(-1)).toMatchObject({
      outcome: "error",
      body: { error: { kind: "context_overflow" } },
    });
    await engine.tell("and now?");
    expect(engine.shown().at(-1)).toBe("fine");
    expect(await engine.transcript()).toContain(`user: ${words(2_000)}`);
  });

  it("loses its oldest turns to a note if there is no summary", async () => {
    const engine = await open({
      limits: { keepRecentTokens: 200 },
      script: (call) => (isSummaryCall(call) ? failure("request") : said(words(45))),
    });
    // The provider's count jumps from below the critical limit to above the emergency limit.
    for (let n = 1; n <= 2; n++) await engine.tell(`q${n} ${words(40)}`);
    await engine.tell(`q3 ${words(250)}`);
    const kinds = (await compactions(engine)).map(({ details }) => (details as { kind: string }).kind);
    expect(kinds).toContain("prune");
    const sent = engine.sentBytes.at(-1) ?? "";
    expect(sent).toContain("older messages were left out without a summary");
    expect(sent).toContain("q3 ");
    expect((await engine.runs()).at(-1)?.outcome).toBe("ok");
  });
});

describe("a context that the provider refuses as too large", () => {
  it("is made smaller and sent once more", async () => {
    let refused = 0;
    const engine = await open({
      limits: { contextWindow: 100_000 },
      script: (call) => {
        if (isSummaryCall(call)) return said(SUMMARY);
        if (lastText(call.request).startsWith("big") && refused++ === 0) return failure("overflow");
        return said(`ok ${words(50)}`);
      },
    });
    for (let n = 1; n <= 4; n++) await engine.tell(`q${n} ${words(40)}`);
    await engine.tell("big");
    expect(engine.shown().at(-1)).toContain("ok");
    expect(await compactions(engine)).toMatchObject([{ details: { reason: "overflow", kind: "summary" } }]);
  });

  it("ends the run after each measure was taken once", async () => {
    const engine = await open({
      limits: { contextWindow: 100_000 },
      tools: { read: { execute: () => "o".repeat(3_900) } },
      script: (call) => {
        if (isSummaryCall(call)) return said(SUMMARY);
        if (lastText(call.request).startsWith("big")) return failure("overflow");
        return lastText(call.request, "tool") === "" ? { call: [{ name: "read" }] } : said(words(50));
      },
    });
    for (let n = 1; n <= 4; n++) await engine.tell(`q${n} ${words(40)}`);
    const before = engine.requests.length;
    await engine.tell("big");
    expect(engine.shown().at(-1)).toMatch(/^Context overflow: prompt too large/);
    expect(engine.requests.length - before).toBeLessThanOrEqual(8);
    expect((await engine.runs()).at(-1)?.outcome).toBe("error");
    const kinds = (await compactions(engine)).map(({ details }) => (details as { kind: string }).kind);
    expect(kinds).toEqual(["summary", "prune"]);
    expect((await engine.entries()).filter(({ type }) => type === "reset")).toEqual([]);
  });

  it("is sent in smaller portions if it is the request for a summary", async () => {
    const sizes: number[] = [];
    const engine = await open({
      script: (call) => {
        if (!isSummaryCall(call)) return said(words(50));
        const size = lastText(call.request).length;
        sizes.push(size);
        return size > 2_000 ? failure("overflow") : said(SUMMARY);
      },
    });
    for (let n = 1; n <= 6; n++) await engine.tell(`q${n} ${words(40)}`);
    expect((await compactions(engine)).length).toBe(1);
    expect(sizes.length).toBeGreaterThan(1);
  });
});

describe("a crash around a compaction", () => {
  it.each(["before", "after"] as const)(
    "%s its commit leaves the old context or the new one, and one compaction",
    async (moment) => {
      const engine = await open({ script: (call) => said(isSummaryCall(call) ? SUMMARY : words(50)) });
      engine.onCommit = (change) => (change.site === "compact" ? `die-${moment}` : "go");
      for (let n = 1; n <= 6 && engine.alive; n++) await engine.tell(`q${n} ${words(40)}`);
      expect(engine.alive).toBe(false);
      await engine.restart();
      expect(await compactions(engine)).toHaveLength(1);
      expect((await engine.runs()).at(-1)?.outcome).toBe("ok");
    },
  );
});

describe("a run that a crash interrupted", () => {
  it("remembers the compaction steps it has taken, and takes none twice", async () => {
    const engine = await open({
      limits: { contextWindow: 100_000 },
      script: (call) => {
        if (isSummaryCall(call)) return said(SUMMARY);
        return lastText(call.request).startsWith("big") ? failure("overflow") : said(words(50));
      },
    });
    for (let n = 1; n <= 6; n++) await engine.tell(`q${n} ${words(40)}`);
    engine.onCommit = (change) => (change.site === "compact" ? "die-after" : "go");
    await engine.tell("big");
    expect(engine.alive).toBe(false);
    await engine.restart();
    const kinds = (await compactions(engine)).map(({ details }) => (details as { kind: string }).kind);
    expect(kinds.filter((kind) => kind === "summary")).toHaveLength(1);
    expect(new Set(kinds).size).toBe(kinds.length);
    expect((await engine.runs()).at(-1)).toMatchObject({
      outcome: "error",
      body: { error: { kind: "context_overflow" } },
    });
  });
});

describe("a run that is stopped while it compacts", () => {
  it("ends at once and nothing is appended", async () => {
    const engine = await open({
      script: (call) => (isSummaryCall(call) ? stall(call, new Promise(() => {})) : said(words(60))),
    });
    for (let n = 1; n <= 3; n++) await engine.tell(`q${n} ${words(60)}`);
    const runId = (await engine.runs()).at(-1)?.id as RunId;
    expect(await engine.system.runs.abort(runId)).toBe(true);
    await engine.settle();
    expect((await engine.runs()).at(-1)?.outcome).toBe("aborted");
    expect(await compactions(engine)).toEqual([]);
  });

  it("by a reset starts from an empty context", async () => {
    const engine = await open({
      script: (call) => (isSummaryCall(call) ? stall(call, new Promise(() => {})) : said(words(60))),
    });
    for (let n = 1; n <= 3; n++) await engine.tell(`q${n} ${words(60)}`);
    await engine.send({ kind: "reset", by: "person" });
    await engine.settle();
    await engine.tell("fresh");
    expect(JSON.parse(engine.sentBytes.at(-1) ?? "[]")).toHaveLength(1);
    expect(await compactions(engine)).toEqual([]);
  });
});

describe("/compact", () => {
  const chatty = (nestLimits: Partial<ContextLimits> = {}) =>
    open({
      limits: { contextWindow: 100_000, ...nestLimits },
      script: (call) => said(isSummaryCall(call) ? SUMMARY : words(50)),
    });

  it("compacts, follows the instructions, and reports what it did", async () => {
    const engine = await chatty();
    for (let n = 1; n <= 4; n++) await engine.tell(`q${n} ${words(40)}`);
    await engine.send({ kind: "compact", instructions: "the names" });
    await engine.settle();
    expect(engine.shown().at(-1)).toMatch(/^⚙️ Compacted: \d+ → \d+ tokens, summarised, \d+ messages covered, \d+ kept/);
    expect(lastText(engine.requests.at(-1) as never)).toContain("Additional focus: the names");
    expect(await engine.states()).toEqual(Array.from({ length: 5 }, () => "answered"));
    expect(await compactions(engine)).toMatchObject([{ details: { reason: "manual", instructions: "the names" } }]);
  });

  it("returns its result as data to programs", async () => {
    const engine = await chatty();
    for (let n = 1; n <= 4; n++) await engine.tell(`q${n} ${words(40)}`);
    const asked = compactSession(engine.system, { agentId: await engine.agentId(), customInstructions: "names" });
    await engine.settle();
    const [entry] = await compactions(engine);
    expect(await asked).toEqual({
      ok: true,
      compacted: true,
      result: {
        summary: entry?.summary,
        firstKeptEntryId: entry?.firstKeptEntryId,
        tokensBefore: entry?.tokensBefore,
        details: entry?.details,
      },
    });
    const again = compactSession(engine.system, { agentId: await engine.agentId() });
    await engine.settle();
    expect(await again).toEqual({ ok: true, compacted: false, reason: "Already compacted." });
  });

  it("reports why it did nothing", async () => {
    const engine = await chatty();
    await engine.send({ kind: "compact" });
    await engine.settle();
    expect(engine.shown()).toEqual(["⚙️ Compaction skipped: Nothing to compact."]);
  });

  it("reports that it failed", async () => {
    const engine = await chatty();
    for (let n = 1; n <= 4; n++) await engine.tell(`q${n} ${words(40)}`);
    engine.script = () => failure("auth");
    await engine.send({ kind: "compact" });
    await engine.settle();
    expect(engine.shown().at(-1)).toBe("⚙️ Compaction failed: auth error.");
    expect((await engine.runs()).at(-1)?.body.error?.kind).toBe("compaction_failure");
  });

  it("continues after a crash, and does not compact twice", async () => {
    for (const moment of ["before", "after"] as const) {
      const engine = await chatty();
      for (let n = 1; n <= 4; n++) await engine.tell(`q${n} ${words(40)}`);
      engine.onCommit = (change) => (change.site === "compact" ? `die-${moment}` : "go");
      await engine.send({ kind: "compact" });
      await engine.settle();
      await engine.restart();
      expect(await compactions(engine)).toHaveLength(1);
      expect(engine.shown().at(-1)).toMatch(/^⚙️ Compacted/);
    }
  });
});

describe("a window that is too small for the short prompt", () => {
  it("ends the run before any call, in one sentence with the setting to change", async () => {
    let calls = 0;
    const engine = await open({
      limits: { contextWindow: 40 },
      system: { resolveModel: () => ({ model: "ollama/tiny", system: words(60) }) },
      script: () => {
        calls += 1;
        return said("never");
      },
    });
    await engine.tell("hello");
    const [run] = await engine.runs();
    expect(run?.body.error).toMatchObject({ kind: "context_overflow" });
    expect(run?.body.error?.message).toMatch(
      /^The context window of ollama\/tiny has 40 tokens, too few for the instructions and tools of about \d+ tokens: set a larger contextWindow for it in models\.providers, or choose another model\.$/u,
    );
    expect(calls).toBe(0);
  });
});

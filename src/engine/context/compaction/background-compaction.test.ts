import { describe, expect, it } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { failure, lastText, type ModelCall, type Reply, stall } from "../../../../test/kit/model.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../../core/history/compaction-settings.ts";
import type { RunId } from "../../../core/ids.ts";
import type { ModelResult } from "../../../core/ports/model.ts";
import { SUMMARY_SYSTEM_PROMPT } from "./summary-prompt.ts";

const isSummaryCall = ({ request }: ModelCall): boolean => request.system === SUMMARY_SYSTEM_PROMPT;
const SUMMARY = "## Goal\nto test\n\n## Progress\n- done\n\n## Original Request\nx\n\n## Early Progress\ny";
const said = (text: string): Partial<ModelResult> => ({ content: [{ type: "text", text }], usage: undefined });
const words = (n: number): string => "word ".repeat(n);

/** A window of 1,000 tokens, nothing reserved: warning at 750, critical at 900. */
const limits: ContextLimits = {
  ...DEFAULT_CONTEXT_LIMITS,
  contextWindow: 1_000,
  reserveTokens: 0,
  reserveTokensFloor: 0,
  memoryFlush: { ...DEFAULT_CONTEXT_LIMITS.memoryFlush, enabled: false },
};

const open = ({
  limits: own,
  ...options
}: TestEngineOptions & { limits?: Partial<ContextLimits> } = {}): Promise<TestEngine> =>
  TestEngine.open({ ...options, system: { contextLimits: () => ({ ...limits, ...own }), ...options.system } });

const compactions = async (engine: TestEngine) => (await engine.entries()).filter(({ type }) => type === "compaction");

/** The same limits in a larger window, where a summary is one call. */
const inOneCall: Partial<ContextLimits> = { contextWindow: 10_000, emergencyContextLimit: 1_000 };

/** Talks until the context is above the warning limit and below the critical one: turns of about 150 tokens. */
async function talk(engine: TestEngine, turns = 5): Promise<void> {
  for (let n = 1; n <= turns; n++) await engine.tell(`q${n} ${words(60)}`);
}
const writer = (summary: (call: ModelCall) => Reply | Promise<Reply>) => (call: ModelCall) =>
  isSummaryCall(call) ? summary(call) : said(lastText(call.request).length > 2 ? words(60) : "ok");

describe("a context at its warning limit", () => {
  it("is summarised after rest, and the summary is appended while the agent is idle", async () => {
    const engine = await open({ script: writer(() => said(SUMMARY)) });
    await talk(engine);
    expect(await compactions(engine)).toMatchObject([{ details: { reason: "background", kind: "summary" } }]);
    expect((await engine.runs()).every(({ outcome }) => outcome === "ok")).toBe(true);
    const agent = await engine.store.agent(await engine.agentId());
    expect(agent).toMatchObject({ state: { compactionCount: 1 } });
    expect(agent?.node).toBeUndefined();
    await engine.tell("next");
    expect(engine.sentBytes.at(-1)).toContain("to test");
  });

  it("blocks no message: one that arrives during the summary is answered, and the summary is appended after it", async () => {
    const hold = gate<Reply>();
    const engine = await open({ script: writer((call) => stall(call, hold.promise)) });
    await talk(engine);
    expect(await compactions(engine)).toEqual([]);
    await engine.tell("short");
    expect(engine.shown()).toHaveLength(6);
    hold.open(said(SUMMARY));
    await engine.settle();
    const [compaction] = await compactions(engine);
    expect(compaction).toMatchObject({ details: { reason: "background" } });
    await engine.tell("after");
    const sent = engine.sentBytes.at(-1) ?? "";
    expect(sent).toContain("to test");
    expect(sent).toContain("short");
  });

  it("gets its summary between two steps of an active run", async () => {
    const summary = gate<Reply>();
    const tool = gate<string>();
    const engine = await open({
      tools: { work: { execute: () => tool.promise } },
      script: (call) => {
        if (isSummaryCall(call)) return stall(call, summary.promise);
        if (lastText(call.request) === "work" && call.request.messages.at(-1)?.role === "user")
          return { call: [{ name: "work" }] };
        return said(words(60));
      },
    });
    await talk(engine);
    await engine.tell("work");
    summary.open(said(SUMMARY));
    await engine.settle();
    expect(await compactions(engine)).toEqual([]);
    tool.open("done");
    await engine.settle();
    const entries = await engine.entries();
    const at = entries.findIndex(({ type }) => type === "compaction");
    expect(entries[at - 1]).toMatchObject({ role: "tool" });
    expect(entries[at + 1]).toMatchObject({ role: "assistant" });
    expect(engine.sentBytes.at(-1)).toContain("to test");
    expect(engine.shown()).toHaveLength(6);
  });

  it("discards the summary if a reset came during it", async () => {
    const hold = gate<Reply>();
    const engine = await open({ script: writer(() => hold.promise) });
    await talk(engine);
    await engine.send({ kind: "reset", by: "person" });
    await engine.settle();
    hold.open(said(SUMMARY));
    await engine.settle();
    await engine.tell("fresh");
    expect(await compactions(engine)).toEqual([]);
    expect(JSON.parse(engine.sentBytes.at(-1) ?? "[]")).toHaveLength(1);
  });

  it("stops the summary if a person asks for one with instructions, which it does not know", async () => {
    const hold = gate<Reply>();
    let asked = 0;
    let stopped = false;
    const engine = await open({
      limits: inOneCall,
      script: writer((call) => {
        if (++asked > 1) return said(SUMMARY);
        call.signal.addEventListener("abort", () => {
          stopped = true;
        });
        return stall(call, hold.promise);
      }),
    });
    await talk(engine);
    await engine.send({ kind: "compact", instructions: "the names" });
    await engine.settle();
    expect(stopped).toBe(true);
    hold.open(said(`${SUMMARY} too late`));
    await engine.settle();
    await engine.tell("next");
    expect(await compactions(engine)).toMatchObject([{ details: { reason: "manual", instructions: "the names" } }]);
    expect(asked).toBe(2);
  });

  it("uses the summary in progress for /compact, and pays for no second one", async () => {
    const hold = gate<Reply>();
    let asked = 0;
    const engine = await open({
      limits: inOneCall,
      script: writer((call) => {
        asked += 1;
        return stall(call, hold.promise);
      }),
    });
    await talk(engine);
    const before = asked;
    await engine.send({ kind: "compact" });
    await engine.settle();
    hold.open(said(SUMMARY));
    await engine.settle();
    expect(await compactions(engine)).toHaveLength(1);
    expect(engine.shown().at(-1)).toMatch(/^⚙️ Compacted/);
    expect(asked).toBe(before);
  });

  it("is summarised again at the first rest after a crash, and not before", async () => {
    const engine = await open({ script: writer((call) => stall(call, new Promise(() => {}))) });
    await talk(engine);
    const asked = engine.requests.length;
    engine.script = writer(() => said(SUMMARY));
    await engine.restart();
    expect(engine.requests.length).toBe(asked);
    await engine.tell("x");
    expect(await compactions(engine)).toHaveLength(1);
  });

  it("is not summarised again at once after a failed summary", async () => {
    let asked = 0;
    const engine = await open({
      script: writer(() => {
        asked += 1;
        return failure("request");
      }),
    });
    await talk(engine);
    await engine.tell("x");
    await engine.tell("y");
    expect(asked).toBe(1);
  });

  it("has at most one summary in progress, and none after the program stops", async () => {
    let asked = 0;
    let stopped = 0;
    const engine = await open({
      script: writer((call) => {
        asked += 1;
        call.signal.addEventListener("abort", () => {
          stopped += 1;
        });
        return stall(call, new Promise(() => {}));
      }),
    });
    await talk(engine);
    await engine.tell("x");
    expect(asked).toBe(1);
    await engine.drain();
    expect(stopped).toBe(1);
  });

  it.each(["before", "after"] as const)("survives a crash %s the summary is appended", async (moment) => {
    const engine = await open({ script: writer(() => said(SUMMARY)) });
    engine.onCommit = (change) => (change.site === "compact.rest" ? `die-${moment}` : "go");
    await talk(engine);
    expect(engine.alive).toBe(false);
    await engine.restart();
    expect(await compactions(engine)).toHaveLength(moment === "after" ? 1 : 0);
    await engine.tell("next");
    expect(await compactions(engine)).toHaveLength(1);
  });

  it("is not summarised in the background if a budget limits its agent: only a run can reserve", async () => {
    let asked = 0;
    const engine = await open({
      script: writer(() => {
        asked += 1;
        return said(SUMMARY);
      }),
      settings: { budgets: { agent: { tokens: 1_000_000 } } },
    });
    await talk(engine);
    expect(asked).toBe(0);
  });
});

describe("a run that needs a summary while one is written in the background", () => {
  /** A tool whose result brings the context above its critical limit. */
  const tools = { read: { maxOutput: 10_000, execute: () => "o".repeat(1_400) } };
  function script(summary: (call: ModelCall, n: number) => Reply | Promise<Reply>) {
    const calls = { summaries: 0 };
    const reply = (call: ModelCall): Reply | Promise<Reply> => {
      if (isSummaryCall(call)) return summary(call, ++calls.summaries);
      const isNew = call.request.messages.at(-1)?.role === "user";
      const asks = { type: "toolCall", id: `call-${call.n}`, name: "read", arguments: {} } as const;
      if (isNew && lastText(call.request) === "read") return { ...said(""), content: [asks], stopReason: "tool_calls" };
      return said(lastText(call.request).length > 5 ? words(60) : "ok");
    };
    return { calls, reply };
  }

  it("waits for it, uses it, and pays for no second one", async () => {
    const hold = gate<Reply>();
    const { calls, reply } = script((call) => stall(call, hold.promise));
    const engine = await open({ limits: inOneCall, script: reply, tools });
    await talk(engine);
    await engine.tell("read");
    expect((await engine.runs()).at(-1)?.state).toBe("open");
    hold.open(said(SUMMARY));
    await engine.settle();
    expect(engine.shown().at(-1)).toBe("ok");
    expect(calls.summaries).toBe(1);
    const entries = await engine.entries();
    expect(entries.filter(({ type }) => type === "compaction")).toMatchObject([{ details: { kind: "summary" } }]);
    expect(entries.at(-2)).toMatchObject({ type: "compaction" });
    // It was used: nothing is left that a later step would have to discard.
    expect(engine.logged("info").filter((text) => text.includes("discarded"))).toEqual([]);
  });

  it("writes its own if that one fails", async () => {
    const hold = gate<Reply>();
    const { calls, reply } = script((call, n) => (n === 1 ? stall(call, hold.promise) : said(SUMMARY)));
    const engine = await open({ limits: inOneCall, script: reply, tools });
    await talk(engine);
    await engine.tell("read");
    hold.open(failure("request"));
    await engine.settle();
    expect((await engine.runs()).at(-1)?.outcome).toBe("ok");
    // The one that failed, and its own: the history and the beginning of the turn.
    expect(calls.summaries).toBe(3);
    expect(await compactions(engine)).toMatchObject([{ details: { kind: "summary", reason: "emergency" } }]);
  });

  it("waits for half of its time at most, then stops it and takes the next measure", async () => {
    let stopped = false;
    const { calls, reply } = script((call) => {
      call.signal.addEventListener("abort", () => {
        stopped = true;
      });
      return stall(call, new Promise(() => {}));
    });
    // Pruning leaves the context near its warning limit, so a rest may begin another summary: count those of the run.
    const summariesAt: number[] = [];
    const engine = await open({
      limits: inOneCall,
      script: (call) => {
        if (!isSummaryCall(call)) summariesAt.push(calls.summaries);
        return reply(call);
      },
      tools: { read: { ...tools.read, execute: () => "o".repeat(9_000) } },
    });
    await talk(engine);
    await engine.tell("read");
    await engine.advance(299_000);
    expect(stopped).toBe(false);
    await engine.advance(2_000);
    expect(stopped).toBe(true);
    expect((await engine.runs()).at(-1)?.outcome).toBe("ok");
    expect(summariesAt.at(-1)).toBe(1);
    expect(await compactions(engine)).toMatchObject([
      { details: { kind: "truncate" } },
      { details: { kind: "prune" } },
    ]);
  });

  it("uses one that was finished before its first model call", async () => {
    const hold = gate<Reply>();
    const { calls, reply } = script((call) => stall(call, hold.promise));
    const engine = await open({ limits: inOneCall, script: reply, tools });
    await talk(engine);
    // The summary is finished while the commit that takes the message is under way.
    engine.onCommit = (change) => {
      if (change.site === "take") hold.open(said(SUMMARY));
      return "go";
    };
    await engine.tell(`long ${words(120)}`);
    expect(calls.summaries).toBe(1);
    expect(await compactions(engine)).toHaveLength(1);
    expect((await engine.runs()).at(-1)?.outcome).toBe("ok");
  });

  it("keeps it for the next run if the run is stopped before it is appended", async () => {
    const hold = gate<Reply>();
    const { calls, reply } = script((call) => stall(call, hold.promise));
    const engine = await open({ limits: inOneCall, script: reply, tools });
    await talk(engine);
    await engine.tell("read");
    await engine.system.runs.abort((await engine.runs()).at(-1)?.id as RunId);
    await engine.settle();
    expect((await engine.runs()).at(-1)?.outcome).toBe("aborted");
    hold.open(said(SUMMARY));
    await engine.settle();
    await engine.tell("next");
    expect(calls.summaries).toBe(1);
    expect(await compactions(engine)).toHaveLength(1);
  });
});

import { describe, expect, it } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { failure, lastText, type ModelCall, type Reply, stall } from "../../../../test/kit/model.ts";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../../core/history/compaction-settings.ts";
import { SUMMARY_SYSTEM_PROMPT } from "./summary-prompt.ts";

const isSummaryCall = ({ request }: ModelCall): boolean => request.system === SUMMARY_SYSTEM_PROMPT;
const SUMMARY = "## Goal\nto test\n\n## Progress\n- done\n\n## Original Request\nx\n\n## Early Progress\ny";
const said = (text: string): Reply => ({ content: [{ type: "text", text }], usage: undefined });
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

  it("discards the summary if another compaction came during it", async () => {
    const hold = gate<Reply>();
    let asked = 0;
    const engine = await open({
      script: writer((call) => (++asked === 1 ? stall(call, hold.promise) : said(SUMMARY))),
    });
    await talk(engine);
    await engine.send({ kind: "compact" });
    await engine.settle();
    hold.open(said(`${SUMMARY} too late`));
    await engine.settle();
    await engine.tell("next");
    expect(await compactions(engine)).toMatchObject([{ details: { reason: "manual" } }]);
    expect(engine.logged("info")).toContain("a background summary was discarded: the context has changed");
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
      system: { budgets: { limitsFor: () => ({ agent: { tokens: 1_000_000 } }), dayOf: () => "2026-01-05" } },
    });
    await talk(engine);
    expect(asked).toBe(0);
  });
});

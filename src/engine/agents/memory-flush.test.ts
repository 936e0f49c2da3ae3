import { describe, expect, it, test } from "vitest";
import { type ContextLimits, DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import type { Right, ToolHost } from "../../core/ports/tool.ts";
import { SUMMARY_SYSTEM_PROMPT } from "../context/compaction/summary-prompt.ts";
import { thresholdsOf } from "../context/compaction/thresholds.ts";
import type { Holding } from "../runtime/agent-lease.ts";
import { dieAt, failure, gate, lastText, type ModelCall, Nest, type Reply, stall } from "./engine.test-kit.ts";
import { isFlushDue } from "./memory-flush.ts";

const SUMMARY = "## Goal\nto test\n\n## Progress\n- done\n\n## Original Request\nx\n\n## Early Progress\ny";
const said = (text: string): Reply => ({ content: [{ type: "text", text }], usage: undefined });
const calling: Reply = {
  content: [{ type: "toolCall", id: "c1", name: "write", arguments: { path: "MEMORY.md" } }],
  stopReason: "tool_calls",
  usage: undefined,
};
const words = (n: number): string => "word ".repeat(n);
const isFlush = ({ request }: ModelCall): boolean => lastText(request).includes("Write any important context");
const isSummaryCall = ({ request }: ModelCall): boolean => request.system === SUMMARY_SYSTEM_PROMPT;

/** Warning at 750, critical at 900, the flush 100 before: at 650. */
const limits: ContextLimits = {
  ...DEFAULT_CONTEXT_LIMITS,
  ...{ contextWindow: 1_000, reserveTokens: 0, reserveTokensFloor: 0 },
  memoryFlush: { ...DEFAULT_CONTEXT_LIMITS.memoryFlush, softThresholdTokens: 100 },
};

function open(flush: (call: ModelCall) => Reply | Promise<Reply>, rights: readonly Right[] = ["write"], own = {}) {
  return Nest.open({
    tools: { write: { rights } },
    system: {
      contextLimits: () => ({ ...limits, ...own }),
      voice: (_agent, wishes) => ({
        model: "scripted",
        system: `You are under test. ${wishes?.extraSystemPrompt ?? ""}`,
      }),
    },
    script: (call) => {
      if (isSummaryCall(call)) return said(SUMMARY);
      return isFlush(call) ? flush(call) : said(words(60));
    },
  });
}

/** Turns of about 150 tokens: five of them pass the flush's threshold. */
async function talk(nest: Nest, turns: number): Promise<void> {
  for (let n = 1; n <= turns; n++) await nest.tell(`q${n} ${words(60)}`);
}
const flushes = (nest: Nest): number =>
  nest.requests.filter((request) => request.system.includes("You are about to run out of context")).length;
const stateOf = async (nest: Nest) => (await nest.store.agent(await nest.agentId()))?.state;

test.each([
  ["user", 700, {}, true],
  ["permanent", 700, {}, true],
  ["heartbeat", 700, {}, false],
  ["cron", 700, {}, false],
  ["subagent", 700, {}, false],
  ["user", 649, {}, false],
  ["user", 650, {}, true],
  ["user", 999, {}, true],
  ["user", 1_000, {}, false],
  ["user", 700, { memoryFlushCompactionCount: 0 }, false],
  ["user", 700, { memoryFlushCompactionCount: 0, compactionCount: 1 }, true],
])("for the kind %s with %d tokens and the counts %j the flush is due: %s", (type, tokens, state, due) => {
  const holding = { record: { descriptor: { type }, state } } as unknown as Holding;
  const tools = { list: () => [{ rights: ["write"] }] } as unknown as ToolHost;
  const measured = { limits, thresholds: thresholdsOf(limits), tokens, overhead: 0 };
  expect(isFlushDue({ tools }, holding, measured)).toBe(due);
});

describe("the memory flush", () => {
  it("is a silent turn before the compaction, with its own prompts and tools", async () => {
    const nest = await open(({ request }) => (request.messages.at(-1)?.role === "user" ? calling : said("NO_REPLY")));
    await talk(nest, 5);
    expect(flushes(nest)).toBe(2);
    expect(nest.executions.map(({ name }) => name)).toEqual(["write"]);
    expect(nest.shown()).toHaveLength(5);
    const entries = await nest.entries();
    const flush = entries.findIndex(({ type }) => type === "custom_message");
    expect(entries[flush]).toMatchObject({ hidden: true, role: "user" });
    expect(entries.findIndex(({ type }) => type === "compaction")).toBeGreaterThan(flush);
    expect(await stateOf(nest)).toMatchObject({
      memoryFlushCompactionCount: 0,
      compactionCount: 1,
      memoryFlushAt: nest.clock.now(),
    });
  });

  it("comes once per cycle", async () => {
    const nest = await open(() => said("NO_REPLY"));
    await talk(nest, 14);
    const count = (await nest.entries()).filter(({ type }) => type === "compaction").length;
    const turns = (await nest.entries()).filter(({ type }) => type === "custom_message").length;
    expect(count).toBeGreaterThanOrEqual(2);
    expect(turns).toBeGreaterThanOrEqual(2);
    expect(turns).toBeLessThanOrEqual(count + 1);
  });

  it.each([
    ["fails", () => failure("request")],
    ["is refused as too large", () => failure("overflow")],
    ["says something to nobody", () => said("I have written it all down.")],
  ])("that %s is not tried again, blocks nothing and says nothing to anybody", async (_, flush) => {
    const nest = await open(flush as () => Reply);
    await talk(nest, 6);
    expect((await nest.entries()).filter(({ type }) => type === "custom_message").length).toBeLessThanOrEqual(2);
    expect(nest.shown()).toHaveLength(6);
    expect(nest.shown().every((text) => text.startsWith("word"))).toBe(true);
    expect((await nest.entries()).some(({ type }) => type === "compaction")).toBe(true);
  });

  it("is skipped where the agent has nothing to write with, and where it is switched off", async () => {
    const readOnly = await open(() => said("NO_REPLY"), ["read"]);
    await talk(readOnly, 6);
    expect(flushes(readOnly)).toBe(0);
    const off = await open(() => said("NO_REPLY"), ["write"], {
      memoryFlush: { ...limits.memoryFlush, enabled: false },
    });
    await talk(off, 6);
    expect(flushes(off)).toBe(0);
  });

  it("that does not end keeps people waiting for two minutes at most", async () => {
    const nest = await open((call) => stall(call, new Promise(() => {})));
    await talk(nest, 5);
    await nest.tell("are you there?");
    expect(nest.shown()).toHaveLength(5);
    await nest.advance(125_000);
    expect(nest.shown()).toHaveLength(6);
  });

  it("gives way to a reset", async () => {
    const nest = await open((call) => stall(call, new Promise(() => {})));
    await talk(nest, 5);
    await nest.send({ kind: "reset", by: "person" });
    await nest.settle();
    expect(nest.shown().at(-1)).toBe("Session reset.");
    expect(await stateOf(nest)).not.toHaveProperty("memoryFlushCompactionCount");
  });

  it.each(["flush", "rest", "result", "think"])("goes on after a crash at %s, and is counted once", async (site) => {
    const nest = await open(({ request }) => (request.messages.at(-1)?.role === "user" ? calling : said("NO_REPLY")));
    await talk(nest, 4);
    const die = dieAt(site);
    let seen = 0;
    nest.fate = (change) => (change.site === site ? die(change, ++seen - (site === "rest" ? 1 : 0)) : "go");
    await nest.tell(`q5 ${words(60)}`);
    expect(nest.alive).toBe(false);
    await nest.restart();
    await nest.settle();
    expect((await nest.entries()).filter(({ type }) => type === "custom_message")).toHaveLength(1);
    expect((await nest.runs()).every(({ state }) => state === "ended")).toBe(true);
  });

  it("waits for nothing: a message that came while it ran is taken next, in order", async () => {
    const hold = gate<Reply>();
    const nest = await open((call) => stall(call, hold.promise));
    await talk(nest, 5);
    await nest.say("one");
    await nest.say("two");
    await nest.settle();
    hold.open(said("NO_REPLY"));
    await nest.settle();
    const said2 = (await nest.transcript()).filter((line) => /^user: (one|two)/.test(line));
    expect(said2).toEqual(["user: one", "user: two"]);
    expect(nest.shown()).toHaveLength(7);
  });
});

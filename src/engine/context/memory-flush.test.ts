import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { failure, lastText, type ModelCall, type Reply, stall } from "../../../test/kit/model.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import { dieAt } from "../../../test/kit/store.ts";
import {
  type ContextLimits,
  contextThresholds,
  DEFAULT_CONTEXT_LIMITS,
} from "../../core/history/compaction-settings.ts";
import type { ToolHost } from "../../core/ports/tool.ts";
import type { Right } from "../../core/rights/right.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import { SUMMARY_SYSTEM_PROMPT } from "./compaction/summary-prompt.ts";
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
  return TestEngine.open({
    tools: { write: { rights } },
    system: {
      contextLimits: () => ({ ...limits, ...own }),
      resolveModel: (_agent, wishes) => ({
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
async function talk(engine: TestEngine, turns: number): Promise<void> {
  for (let n = 1; n <= turns; n++) await engine.tell(`q${n} ${words(60)}`);
}
const flushes = (engine: TestEngine): number =>
  engine.requests.filter((request) => request.system.includes("You are about to run out of context")).length;
const stateOf = async (engine: TestEngine) => (await engine.store.agent(await engine.agentId()))?.state;

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
  const lease = { record: { profile: "main", descriptor: { type }, state } } as unknown as AgentLease;
  const tools = { list: () => [{ rights: ["write"] }] } as unknown as ToolHost;
  const measured = { limits, thresholds: contextThresholds(limits), tokens, overhead: 0 };
  expect(isFlushDue({ tools, settings: testSettings() }, lease, measured)).toBe(due);
});

test.each([
  ["rw", true],
  ["ro", false],
  [undefined, true],
] as const)("with the access %s to its workspace, the flush is due: %s", (workspaceAccess, due) => {
  const lease = { record: { profile: "main", descriptor: { type: "user" }, state: {} } } as unknown as AgentLease;
  const tools = { list: () => [{ rights: ["write"] }] } as unknown as ToolHost;
  const measured = { limits, thresholds: contextThresholds(limits), tokens: 700, overhead: 0 };
  const settings = testSettings({ profiles: { main: { workspaceAccess } } });
  expect(isFlushDue({ tools, settings }, lease, measured)).toBe(due);
});

describe("the memory flush", () => {
  it("is a silent turn before the compaction, with its own prompts and tools", async () => {
    const engine = await open(({ request }) => (request.messages.at(-1)?.role === "user" ? calling : said("NO_REPLY")));
    await talk(engine, 5);
    expect(flushes(engine)).toBe(2);
    expect(engine.executions.map(({ name }) => name)).toEqual(["write"]);
    expect(engine.shown()).toHaveLength(5);
    const entries = await engine.entries();
    const flush = entries.findIndex(({ type }) => type === "custom_message");
    expect(entries[flush]).toMatchObject({ hidden: true, role: "user" });
    expect(entries.findIndex(({ type }) => type === "compaction")).toBeGreaterThan(flush);
    expect(await stateOf(engine)).toMatchObject({
      memoryFlushCompactionCount: 0,
      compactionCount: 1,
      memoryFlushAt: engine.clock.now(),
    });
  });

  it("comes before the compaction even if one turn has passed both limits, and has events of its own", async () => {
    const engine = await open(() => said("NO_REPLY"));
    const events: { type: string; runId: string }[] = [];
    engine.system.events.listen(({ type, runId }) => events.push({ type, runId }));
    await talk(engine, 3);
    // From about 450 tokens to about 920: above the critical limit, below the emergency limit.
    await engine.tell(`q4 ${words(315)}`);
    const order = engine.requests.flatMap((request) => {
      if (request.system === SUMMARY_SYSTEM_PROMPT) return ["summary"];
      return lastText(request).includes("Write any important context") ? ["flush"] : [];
    });
    expect(order[0]).toBe("flush");
    expect(order).toContain("summary");
    const flush = (await engine.runs()).find(({ body }) => body.memoryFlush);
    const ofFlush = events.filter(({ runId }) => runId === flush?.id).map(({ type }) => type);
    expect(ofFlush.filter((type) => type === "start")).toHaveLength(1);
    expect(ofFlush[0]).toBe("start");
  });

  it.each([
    ["Write any important context down.", 1],
    ["Write any important context down, or say NO_REPLY.", 1],
  ])("says once that nothing need be said, with the prompt %j", async (prompt, times) => {
    const memoryFlush = { ...limits.memoryFlush, prompt };
    const engine = await open(() => said("NO_REPLY"), ["write"], { memoryFlush });
    await talk(engine, 5);
    const asked = engine.requests.map((request) => lastText(request)).find((text) => text.includes(prompt)) ?? "";
    expect(asked.split("NO_REPLY")).toHaveLength(times + 1);
    expect(asked).toContain("<system_message");
  });

  it("acts for the person of the conversation, begins at its first step, and takes two minutes at most", async () => {
    const engine = await open((call) => stall(call, new Promise(() => {})));
    await talk(engine, 5);
    const flush = (await engine.runs()).find(({ body }) => body.memoryFlush);
    const [first] = await engine.runs();
    expect(flush).toMatchObject({ step: 1, attempt: 1, state: "open" });
    expect(flush?.body).toMatchObject({ seqs: [], calls: [], iterations: 0, deliveries: 0 });
    expect(flush?.body.behalf?.person).toBe(first?.body.behalf?.person);
    expect(flush?.body.wishes?.timeoutSeconds).toBe(120);
    await engine.advance(119_000);
    expect((await engine.runs()).find(({ id }) => id === flush?.id)?.state).toBe("open");
    await engine.advance(2_000);
    expect((await engine.runs()).find(({ id }) => id === flush?.id)?.state).not.toBe("open");
  });

  it("comes once per cycle", async () => {
    const engine = await open(() => said("NO_REPLY"));
    await talk(engine, 14);
    const count = (await engine.entries()).filter(({ type }) => type === "compaction").length;
    const turns = (await engine.entries()).filter(({ type }) => type === "custom_message").length;
    expect(count).toBeGreaterThanOrEqual(2);
    expect(turns).toBeGreaterThanOrEqual(2);
    expect(turns).toBeLessThanOrEqual(count + 1);
  });

  it.each([
    ["fails", () => failure("request")],
    ["is refused as too large", () => failure("overflow")],
    ["answers with text", () => said("I have written it all down.")],
  ])("that %s is not repeated, blocks nothing and sends nothing", async (_, flush) => {
    const engine = await open(flush as () => Reply);
    await talk(engine, 6);
    expect((await engine.entries()).filter(({ type }) => type === "custom_message").length).toBeLessThanOrEqual(2);
    expect(engine.shown()).toHaveLength(6);
    expect(engine.shown().every((text) => text.startsWith("word"))).toBe(true);
    expect((await engine.entries()).some(({ type }) => type === "compaction")).toBe(true);
  });

  it("is skipped if the agent has no tool that writes, or if the flush is off", async () => {
    const readOnly = await open(() => said("NO_REPLY"), ["read"]);
    await talk(readOnly, 6);
    expect(flushes(readOnly)).toBe(0);
    const off = await open(() => said("NO_REPLY"), ["write"], {
      memoryFlush: { ...limits.memoryFlush, enabled: false },
    });
    await talk(off, 6);
    expect(flushes(off)).toBe(0);
  });

  it("delays messages for two minutes at most if it does not end", async () => {
    const engine = await open((call) => stall(call, new Promise(() => {})));
    await talk(engine, 5);
    await engine.tell("are you there?");
    expect(engine.shown()).toHaveLength(5);
    await engine.advance(125_000);
    expect(engine.shown()).toHaveLength(6);
  });

  it("is ended by a reset", async () => {
    const engine = await open((call) => stall(call, new Promise(() => {})));
    await talk(engine, 5);
    await engine.send({ kind: "reset", by: "person" });
    await engine.settle();
    expect(engine.shown().at(-1)).toBe("Session reset.");
    expect(await stateOf(engine)).not.toHaveProperty("memoryFlushCompactionCount");
  });

  it.each(["flush", "rest", "result", "think"] as const)(
    "continues after a crash at %s, and is counted once",
    async (site) => {
      const engine = await open(({ request }) =>
        request.messages.at(-1)?.role === "user" ? calling : said("NO_REPLY"),
      );
      await talk(engine, 4);
      const die = dieAt(site);
      let seen = 0;
      engine.onCommit = (change) => (change.site === site ? die(change, ++seen - (site === "rest" ? 1 : 0)) : "go");
      await engine.tell(`q5 ${words(60)}`);
      expect(engine.alive).toBe(false);
      await engine.restart();
      await engine.settle();
      expect((await engine.entries()).filter(({ type }) => type === "custom_message")).toHaveLength(1);
      expect((await engine.runs()).every(({ state }) => state === "ended")).toBe(true);
    },
  );

  it("is followed at once by the messages that arrived during it, in order", async () => {
    const hold = gate<Reply>();
    const engine = await open((call) => stall(call, hold.promise));
    await talk(engine, 5);
    await engine.say("one");
    await engine.say("two");
    await engine.settle();
    hold.open(said("NO_REPLY"));
    await engine.settle();
    const said2 = (await engine.transcript()).filter((line) => /^user: (one|two)/.test(line));
    expect(said2).toEqual(["user: one", "user: two"]);
    expect(engine.shown()).toHaveLength(7);
  });
});

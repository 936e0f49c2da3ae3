/** When a child is archived, and by which settings. */
import { describe, expect, test } from "vitest";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { type Made, NOW, world } from "./agents-by-name.test-kit.ts";
import { subagentSettings } from "./settings.ts";
import { startSweep } from "./sweep.ts";

describe("archiving children", () => {
  const due = (n: number, more: object = {}) =>
    ({
      runId: `r${String(n).padStart(3, "0")}`,
      childAgentId: "kid",
      archiveAtMs: NOW - 1,
      endedAt: 1,
      cleanup: "keep",
      ...more,
    }) as Partial<SubagentRunRecord>;
  const swept = async (agents: Record<string, Made>, runs: Partial<SubagentRunRecord>[], minutes = 60) => {
    const made = world(agents, runs);
    let next: number | undefined;
    const after = (ms: number) => {
      next = NOW + ms;
      return () => {};
    };
    const clock = { now: () => NOW, after };
    const ports = { store: made.store, clock, ids: { change: () => "c" }, log: { warn: () => {} } } as never;
    startSweep(ports, { archiveAfterMinutes: minutes }, { shared: false, emit: () => {} });
    await new Promise<void>((done) => setImmediate(done));
    return { next, ops: made.committed.flat() };
  };
  const kid = (more: object = {}) => ({ kid: { parent: "mum", more } });
  const rested = { state: { updatedAt: NOW - 60 * 60_000, stats: {} } };
  test.each<[string, Record<string, Made>, object, object[]]>([
    ["a child that is gone is forgotten", {}, {}, [{ op: "subagent.remove" }]],
    ["one that was removed is forgotten", kid({ stopped: { removed: true } }), {}, [{ op: "subagent.remove" }]],
    ["one that has rested long enough is forgotten", kid(rested), {}, [{ op: "subagent.remove" }]],
    [
      "one that has not waits until it has",
      kid({ state: { updatedAt: NOW - 60 * 60_000 + 1, stats: {} } }),
      {},
      [{ op: "subagent.put", expect: "ended", record: { archiveAtMs: NOW + 1 } }],
    ],
    [
      "one with work waits a minute",
      kid({ ...rested, waiting: 1 }),
      {},
      [{ op: "subagent.put", record: { archiveAtMs: NOW + 60_000 } }],
    ],
    [
      "one with a run waits a minute",
      kid({ ...rested, runId: "x" }),
      {},
      [{ op: "subagent.put", record: { archiveAtMs: NOW + 60_000 } }],
    ],
    [
      "one that is to be deleted is removed",
      kid(),
      { cleanup: "delete" },
      [{ op: "agent.remove", agentId: "kid" }, { op: "subagent.remove" }],
    ],
  ])("%s", async (_title, agents, more, ops) => {
    expect((await swept(agents, [due(1, more)])).ops).toMatchObject(ops);
  });
  test("one whose own child works waits a minute", async () => {
    const open = { runId: "open", requesterSessionKey: "key:kid" };
    expect((await swept(kid(rested), [due(1), open])).ops).toMatchObject([
      { op: "subagent.put", record: { archiveAtMs: NOW + 60_000 } },
    ]);
  });
  test("the next time is the next record's, at least a second away", async () => {
    expect((await swept(kid(rested), [])).next).toBeUndefined();
    expect((await swept(kid(rested), [due(1, { archiveAtMs: NOW + 5_000 })])).next).toBe(NOW + 5_000);
    expect((await swept(kid(rested), [due(1, { archiveAtMs: NOW + 500 })])).next).toBe(NOW + 1_000);
  });
});

describe("the settings of children", () => {
  const config = {
    subagents: {
      maxDepth: 3,
      maxChildren: 7,
      archiveAfterMinutes: 9,
      allowAgents: ["all"],
      model: { primary: "p/m" },
      thinking: "low",
    },
    profiles: { Work: { subagents: { allowAgents: ["main"], model: "w/m", thinking: "high" } }, home: {} },
    session: { mainKey: "mine" },
  };
  const settings = subagentSettings(config as never);
  test("are those of the profile, else of all", () => {
    expect([settings.maxDepth, settings.maxChildren, settings.archiveAfterMinutes, settings.mainKey]).toEqual([
      3,
      7,
      9,
      "mine",
    ]);
    expect([settings.allowAgents("work"), settings.allowAgents("home")]).toEqual([["main"], ["all"]]);
    expect([settings.model("WORK"), settings.model("home")]).toEqual(["w/m", "p/m"]);
    expect([settings.thinking("work"), settings.thinking("gone")]).toEqual(["high", "low"]);
    expect([settings.profileNamed("work"), settings.profileNamed("main"), settings.profileNamed("gone")]).toEqual([
      "Work",
      "main",
      undefined,
    ]);
    expect(settings.profileNames?.()).toEqual(["main", "Work", "home"]);
    expect(subagentSettings(config as never, { maxDepth: 1 }).maxDepth).toBe(1);
    expect(subagentSettings({ ...config, subagents: {} } as never).model("home")).toBeUndefined();
  });
});

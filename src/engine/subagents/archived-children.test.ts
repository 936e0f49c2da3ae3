/** When a child is archived, and by which settings. */

import { describe, expect, test } from "vitest";
import { testSettings } from "../../../test/kit/settings.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { type Made, NOW, world } from "./agents-by-name.test-kit.ts";
import { allowedAgents, childModel, childThinking, profileNamed, profileNames } from "./settings.ts";
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
    const settings = testSettings({ subagents: { archiveAfterMinutes: minutes } });
    const ports = { store: made.store, clock, ids: { change: () => "c" }, log: { warn: () => {} }, settings } as never;
    startSweep(ports, { shared: false, emit: () => {} });
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
  const { current } = testSettings({
    subagents: { allowAgents: ["all"], model: { primary: "p/m" }, thinking: "low" },
    profiles: { Work: { subagents: { allowAgents: [" main "], model: "w/m", thinking: "high" } }, home: {} },
  });
  test("are those of the profile, else of all", () => {
    expect([allowedAgents(current, "work"), allowedAgents(current, "home")]).toEqual([["main"], ["all"]]);
    expect([childModel(current, "WORK"), childModel(current, "home")]).toEqual(["w/m", "p/m"]);
    expect([childThinking(current, "work"), childThinking(current, "gone")]).toEqual(["high", "low"]);
    expect(["work", "main", "gone"].map((name) => profileNamed(current, name))).toEqual(["Work", "main", undefined]);
    expect(profileNames(current)).toEqual(["main", "Work", "home"]);
    expect(childModel(testSettings().current, "home")).toBeUndefined();
  });
  test("by default: no children of children, a hundred of a conversation, archived after an hour", () => {
    const { subagents } = testSettings().current;
    expect(subagents).toMatchObject({ maxDepth: 1, maxChildren: 100, archiveAfterMinutes: 60, allowAgents: [] });
  });
});

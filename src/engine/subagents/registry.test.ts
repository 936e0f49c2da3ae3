import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { reportTexts } from "./family.test-kit.ts";
import {
  initSubagentRegistry,
  listSubagentRunsForRequester,
  registerSubagentRun,
  releaseSubagentRun,
} from "./registry.ts";

const record = (runId: string, more: Partial<SubagentRunRecord> = {}): SubagentRunRecord => ({
  runId,
  childSessionKey: `agent:main:subagent:${runId}`,
  requesterSessionKey: "agent:main:main",
  requesterDisplayKey: "main",
  task: "dig",
  cleanup: "keep",
  createdAt: 100,
  ...more,
});

async function open(...records: readonly SubagentRunRecord[]) {
  const engine = await TestEngine.open();
  await engine.tell("hello");
  const ports = {
    ...engine.ports({ alive: true, name: "registry" }),
    people: engine.system.people,
    settings: engine.settings,
  };
  await ports.store.commit({
    id: ports.ids.change(),
    site: "test",
    at: engine.clock.now(),
    ops: records.map(registerSubagentRun),
  });
  return { engine, ports };
}

describe("the registry of children", () => {
  it("registers a spawn with its creation time as its start until the run begins", () => {
    expect(registerSubagentRun(record("a"))).toEqual({ op: "subagent.put", record: record("a", { startedAt: 100 }) });
    expect(registerSubagentRun(record("a", { startedAt: 200 }))).toMatchObject({ record: { startedAt: 200 } });
  });

  it("lists the children of one requester, oldest first", async () => {
    const other = { requesterSessionKey: "agent:main:other" };
    const { ports } = await open(record("b", { createdAt: 300 }), record("c", { createdAt: 200 }), record("d", other));
    const runs = await listSubagentRunsForRequester(ports.store, "agent:main:main");
    expect(runs.map(({ runId }) => runId)).toEqual(["c", "b"]);
    expect(await listSubagentRunsForRequester(ports.store, "nobody")).toEqual([]);
  });

  it.each([
    ["releases a run that has ended", { endedAt: 400 }, "a", true],
    ["does not release an open run that has not reported yet", {}, "a", false],
    ["does not release an unknown run", {}, "x", false],
  ] as const)("%s: %j", async (_, more, runId, released) => {
    const { ports } = await open(record("a", more));
    expect(await releaseSubagentRun(ports, runId)).toBe(released);
    expect((await ports.store.subagentRun("a")) === undefined).toBe(released);
  });

  it("reports lost children once, at the start", async () => {
    const { engine, ports } = await open(
      record("a", { label: "digger", requesterSessionKey: "agent:main:test:dm:ann" }),
    );
    const woken: unknown[] = [];
    for (let times = 0; times < 2; times++) {
      const sweep = initSubagentRegistry(ports, {
        emit: (event) => void (event.type === "posted" ? woken.push(event) : undefined),
        shared: false,
        committed: () => {},
      });
      await engine.settle();
      await engine.advance(31_000);
      sweep.stop();
    }
    const texts = await reportTexts(engine);
    expect(texts).toHaveLength(1);
    // The conversation that hears of it is woken, once.
    expect(woken).toHaveLength(1);
    expect(texts[0]).toContain('A background task "digger" just finished with unknown status.');
    expect(await ports.store.subagentRun("a")).toMatchObject({ outcome: { status: "unknown" } });
  });
});

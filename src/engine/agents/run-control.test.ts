/** Runs as people and tools see, steer, abort and await them, on this node and on another one. */
import { describe, expect, it, test } from "vitest";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn, lastText, type Reply, stall } from "../../../test/kit/model.ts";
import { TestTools } from "../../../test/kit/tools.ts";
import type { RunId } from "../../core/ids.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Op } from "../../core/store/change.ts";
import { LEASE_MS, otherNode, outcomeOf, putPerson } from "./agent-system.test-kit.ts";

const NONE = "none" as RunId;
const of = (person: string): Behalf => ({ person: person as PersonId });
const runOf = async (engine: TestEngine, name = "ann"): Promise<RunId> => {
  const run = (await engine.runs(await engine.agentId(name))).at(-1);
  if (!run) throw new TypeError("no run");
  return run.id;
};

/** A run whose model call stays open. */
async function streaming(options: TestEngineOptions = {}, behalf?: Behalf) {
  const hold = gate<Reply>();
  const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise), ...options });
  await engine.tell("one", { behalf });
  return { engine, hold, runId: await runOf(engine) };
}

/** A run that waits for a lane. */
async function queued() {
  const lanes = { main: 1, subagent: 1, cron: 1, nested: 1 };
  const { engine, hold } = await streaming({ settings: { lanes } });
  await engine.tell("two", { name: "bob" });
  const runId = engine.system.runs.queued(await engine.agentId("bob"));
  if (!runId) throw new TypeError("not queued");
  return { engine, hold, runId };
}

/** A run that waits for a person's yes. */
async function suspended() {
  const engine = await TestEngine.open({
    ...{ tools: { exec: { rights: ["exec"], replay: "never" } }, script: inTurn({ call: [{ name: "exec" }] }, "done") },
    system: { rights: {} },
  });
  await putPerson(engine, "ann", [{ ask: "exec" }]);
  await engine.tell("go", { sender: { connector: "test", userId: "ann" } });
  return { engine, runId: await runOf(engine) };
}

/** A run of the engine, and another node that looks at it. */
async function elsewhere() {
  const { engine, hold, runId } = await streaming({ system: { leaseMs: LEASE_MS, pollMs: 1_000 } });
  return { engine, hold, runId, runs: (await otherNode(engine)).runs };
}

describe("state", () => {
  it("follows a run from its start to its end", async () => {
    const { engine, hold, runId } = await streaming();
    const id = await engine.agentId();
    expect([await engine.system.runs.state(runId), engine.system.runs.live(id)?.id]).toEqual(["streaming", runId]);
    hold.open("done");
    await engine.settle();
    expect([await engine.system.runs.state(runId), engine.system.runs.live(id)]).toEqual(["ended", undefined]);
    expect(await engine.system.runs.state(NONE)).toBe("unknown");
  });

  it("is queued, suspended or active for other runs", async () => {
    const [one, two, three] = [await queued(), await suspended(), await elsewhere()];
    expect(await one.engine.system.runs.state(one.runId)).toBe("queued");
    expect(await two.engine.system.runs.state(two.runId)).toBe("suspended");
    expect(await three.runs.state(three.runId)).toBe("active");
  });
});

describe("steer", () => {
  test.each<[string, Behalf | undefined, object]>([
    ["its person", undefined, { person: "ann" }],
    ["its person through the speaker", of("eve"), { person: "ann", through: ["eve"] }],
  ])("sends a text into a streaming run for %s", async (_title, speaker, people) => {
    const { engine, hold, runId } = await streaming({}, of("ann"));
    expect(await engine.system.runs.steer(runId, "and also", { behalf: speaker, key: "k" })).toBe(true);
    const [steered] = await engine.store.messages(await engine.agentId(), { limit: 1 });
    expect(steered).toMatchObject({ seq: 2, body: { text: "and also" }, delivery: { channel: "test", to: "ann" } });
    expect(steered?.behalf).toMatchObject(people);
    hold.open("done");
    await engine.settle();
    expect(engine.sentBytes.at(-1)).toContain("and also");
    expect(await engine.system.runs.steer(runId, "too late")).toBe(false);
  });

  it("posts nothing while a tool runs, for a suspended run, or for an unknown one", async () => {
    const tools = new TestTools({ dig: {} });
    const held = tools.hold("dig");
    const engine = await TestEngine.open({ tools: tools.specs, script: inTurn({ call: [{ name: "dig" }] }, "done") });
    await engine.tell("go");
    expect(await engine.system.runs.steer(await runOf(engine), "x")).toBe(false);
    expect(await engine.system.runs.steer(NONE, "x")).toBe(false);
    held.release();
    const asking = await suspended();
    expect(await asking.engine.system.runs.steer(asking.runId, "x")).toBe(false);
    expect([(await engine.states()).length, (await asking.engine.states()).length]).toEqual([1, 1]);
  });

  it("reaches a run of another node until that run has ended", async () => {
    const { engine, hold, runId, runs } = await elsewhere();
    expect(await runs.steer(runId, "from afar")).toBe(true);
    hold.open("done");
    await engine.advance(2_000);
    expect(engine.sentBytes.at(-1)).toContain("from afar");
    expect(await runs.steer(runId, "too late")).toBe(false);
  });
});

describe("wait", () => {
  it("ends with the run and leaves no timer behind", async () => {
    const { engine, hold, runId } = await streaming();
    const timers = engine.clock.timers;
    const other = outcomeOf(engine.system.runs.wait(runId));
    await engine.tell("two", { name: "bob" });
    await engine.advance(1_000);
    expect(other).toEqual({});
    hold.open("done");
    await engine.settle();
    const ended = { status: "ended", outcome: "ok", result: { runId } };
    expect(other.value).toMatchObject(ended);
    expect(await engine.system.runs.wait(runId)).toMatchObject(ended);
    expect(engine.clock.timers).toBeLessThanOrEqual(timers);
    expect(await engine.system.runs.wait(NONE)).toEqual({ status: "unknown" });
  });

  it("ends after the given time, or after fifteen seconds", async () => {
    const { engine, runId } = await streaming();
    const [short, long] = [outcomeOf(engine.system.runs.wait(runId, 100)), outcomeOf(engine.system.runs.wait(runId))];
    await engine.advance(14_999);
    expect([short.value, long.value]).toEqual([{ status: "timeout", state: "streaming" }, undefined]);
    await engine.advance(1);
    expect(long.value).toEqual({ status: "timeout", state: "streaming" });
  });

  it("keeps waiting for a run that waits for a lane", async () => {
    const { engine, hold, runId } = await queued();
    const waiting = outcomeOf(engine.system.runs.wait(runId));
    await engine.settle();
    expect(waiting).toEqual({});
    hold.open("done");
    await engine.settle();
    expect(waiting.value).toMatchObject({ status: "ended", outcome: "ok" });
  });

  it("finds the end of a run of another node within half a second", async () => {
    const { engine, hold, runId, runs } = await elsewhere();
    const [short, long] = [outcomeOf(runs.wait(runId, 100)), outcomeOf(runs.wait(runId))];
    await engine.advance(1_100);
    expect([short.value, long.value]).toEqual([{ status: "timeout", state: "active" }, undefined]);
    hold.open("done");
    await engine.advance(500);
    expect(long.value).toMatchObject({ status: "ended", outcome: "ok", result: { outcome: "ok" } });
  });
});

describe("abort", () => {
  const also =
    (key: string) =>
    (aborted: boolean): readonly Op[] => [{ op: "fact.put", key, value: String(aborted) }];

  it("ends a run once, and commits the caller's changes with the mark or alone", async () => {
    const { engine, runId } = await streaming();
    expect(await engine.system.runs.abort(runId, "person", also("first"))).toBe(true);
    await engine.settle();
    expect((await engine.store.run(runId))?.outcome).toBe("aborted");
    expect(await engine.system.runs.abort(runId)).toBe(false);
    expect(await engine.system.runs.abort(NONE)).toBe(false);
    expect(await engine.system.runs.abort(runId, "person", also("late"))).toBe(false);
    expect([await engine.store.fact("first"), await engine.store.fact("late")]).toEqual(["true", "false"]);
    const refused: Op = { op: "fact.put", key: "first", value: "x", expect: "other" };
    await expect(engine.system.runs.abort(runId, "person", () => [refused])).rejects.toMatchObject({
      code: "conflict",
    });
  });

  it("ends a run of another node when that node reads the mark", async () => {
    const { engine, hold, runId, runs } = await elsewhere();
    expect(await runs.abort(runId)).toBe(true);
    hold.open("not sent");
    await engine.settle();
    expect(engine.shown()).toEqual([]);
    expect((await engine.store.run(runId))?.outcome).toBe("aborted");
  });

  it("takes a run out of its lane without starting it", async () => {
    const { engine, hold, runId } = await queued();
    expect(await engine.system.runs.abort(runId)).toBe(true);
    await engine.settle();
    hold.open("done");
    await engine.settle();
    expect(await engine.states(await engine.agentId("bob"))).toEqual(["aborted"]);
    expect(engine.requests.map((request) => lastText(request))).toEqual(["one"]);
  });

  it("ends a suspended run at once and withdraws its question", async () => {
    const { engine, runId } = await suspended();
    expect(await engine.system.runs.abort(runId, "stop")).toBe(true);
    await engine.settle();
    expect((await engine.store.run(runId))?.outcome).toBe("aborted");
    expect(await engine.store.approvals({ limit: 9 })).toMatchObject([{ state: "withdrawn" }]);
    expect(engine.executions).toEqual([]);
  });
});

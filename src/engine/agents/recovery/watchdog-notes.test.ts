import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { lastText, type Script, stall } from "../../../../test/kit/model.ts";
import { dieAt } from "../../../../test/kit/store.ts";
import { keepWatchdogNote, watchdogNotesOf } from "./watchdog-notes.ts";

/** Ann's answer never comes; the others get theirs. */
const open = async () => {
  const script: Script = (call) =>
    lastText(call.request) === "block" ? stall(call, gate<string>().promise) : `answer to ${lastText(call.request)}`;
  const engine = await TestEngine.open({ script });
  await engine.tell("block");
  const [run] = await engine.runs();
  if (!run) throw new TypeError("no run");
  const note = { agentId: run.agentId, runId: run.id, phase: "context", at: 1 };
  const ports = { store: engine.store, clock: engine.clock, ids: seededIds("watchdog") };
  const keep = (more: Partial<typeof note> = {}) => keepWatchdogNote(ports, { ...note, ...more });
  return { engine, run, note, ports, keep, notes: watchdogNotesOf(ports) };
};

describe("a watchdog's note", () => {
  it("stays in the store until it is counted", async () => {
    const { engine, run, note, notes, keep } = await open();
    await keep();
    await keep();
    expect(await notes.of(run.id)).toEqual(note);
    await engine.restart();
    expect(await notes.of(run.id)).toBeUndefined();
  });

  it("survives a crash before it is counted", async () => {
    const { engine, run, note, notes, keep } = await open();
    await keep();
    await engine.reboot();
    engine.onCommit = dieAt("trial.death", "before");
    await engine.settle();
    expect(engine.alive).toBe(false);
    expect(await notes.of(run.id)).toEqual(note);
  });

  it("is not stored for an ended or unknown run", async () => {
    const { engine, note, notes, keep } = await open();
    await keep({ runId: "none" as typeof note.runId });
    expect(await notes.of("none")).toBeUndefined();
    await engine.system.runs.abort(note.runId);
    await engine.settle();
    await keep();
    expect(await notes.of(note.runId)).toBeUndefined();
  });

  it("is ignored if it cannot be parsed", async () => {
    const { engine, run, notes, ports } = await open();
    for (const value of ["{", "null", "[]", '{"runId":1}']) {
      const op = { op: "fact.put", key: `watchdog:${run.id}`, value } as const;
      await engine.store.commit({ id: ports.ids.change(), site: "t", at: 0, ops: [op] });
      expect(await notes.of(run.id)).toBeUndefined();
    }
  });
});

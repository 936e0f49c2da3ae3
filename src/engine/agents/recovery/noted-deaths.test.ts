/** Deaths that a watchdog has noted: each counts once, and the third one fails the run (M13, M34). */
import { describe, expect, it } from "vitest";
import type { TestEngine } from "../../../../test/kit/engine.ts";
import { CommitUnknownError } from "../../../core/errors.ts";
import type { WatchdogNote } from "../../../core/run/trial.ts";
import { timedEngine, untilPeace } from "./trials.test-kit.ts";

describe("a watchdog's note", () => {
  it("counts as a death alone on trial, once, and the third one fails the run", async () => {
    const counted: WatchdogNote[] = [];
    let note: WatchdogNote | undefined;
    const watchdogNotes = {
      of: async (runId: string) => (note?.runId === runId ? note : undefined),
      counted: async (one: WatchdogNote) => void counted.push(one),
    };
    const engine = await timedEngine({ system: { watchdogNotes } });
    await engine.tell("takes 300000");
    await engine.tell("takes 5000", { name: "ann2" });
    const [run] = await engine.runs();
    for (let times = 1; times <= 3; times++) {
      note = { agentId: run?.agentId ?? "", runId: run?.id ?? "", phase: "compact", at: times };
      await engine.restart();
      if (times === 3) break;
      expect((await engine.runs())[0]?.body.trial?.deaths).toHaveLength(times);
      // The note is still there when the process lives through the pause, and is not counted again.
      await engine.advance(135_000);
      expect((await engine.runs())[0]?.body.trial?.deaths).toHaveLength(times);
    }
    expect(counted.map(({ at }) => at)).toEqual([1, 2, 3]);
    expect(await engine.states()).toEqual(["failed"]);
    expect(engine.shown().at(-1)).toContain('blocked the program, the last time at "compact"');
    expect(await engine.states(await engine.agentId("ann2"))).toEqual(["answered"]);
  });

  it("logs that the run blocked the program, and without a note that the program stopped", async () => {
    const deaths = (engine: TestEngine) =>
      engine.logged("warn").filter((line) => line.includes("the program") && !line.includes("twice"));
    let note: WatchdogNote | undefined;
    const watchdogNotes = { of: async () => note, counted: async () => {} };
    const noted = await timedEngine({ system: { watchdogNotes } });
    await noted.tell("takes 300000");
    const [run] = await noted.runs();
    note = { agentId: run?.agentId ?? "", runId: run?.id ?? "", phase: "compact", at: 1 };
    await noted.restart();
    expect(deaths(noted)).toEqual(["a run blocked the program"]);
    const silent = await timedEngine();
    await silent.tell("kills 0");
    await untilPeace(silent, 30_000, 4).catch(() => undefined);
    expect(new Set(deaths(silent))).toEqual(new Set(["the program stopped while only this run was being tried"]));
  });

  it.each([1, 3])("makes the agent read itself again if it cannot be removed at death %d", async (bad) => {
    let note: WatchdogNote | undefined;
    let counted = 0;
    const watchdogNotes = {
      of: async () => note,
      counted: async () => {
        counted += 1;
        if (counted === bad) throw new CommitUnknownError("the note may still be there");
      },
    };
    const engine = await timedEngine({ system: { watchdogNotes } });
    await engine.tell("takes 300000");
    const [run] = await engine.runs();
    for (let times = 1; times <= 3; times++) {
      note = { agentId: run?.agentId ?? "", runId: run?.id ?? "", phase: "compact", at: times };
      await engine.restart();
      await engine.advance(135_000);
    }
    expect(engine.logged("error")).toContain("an agent failed and is read again");
    expect(await engine.states()).toEqual(["failed"]);
    expect((await engine.runs()).map(({ state }) => state)).toEqual(["ended"]);
  });
});

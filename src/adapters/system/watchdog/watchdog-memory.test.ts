import { describe, expect, it } from "vitest";
import { WatchdogMemory } from "./watchdog-memory.ts";

const ann = { agentId: "a".repeat(24), runId: "01a1e4b6-90ed-7000-83a9-24b781504a5c", phase: "context" };
const bob = { agentId: "b".repeat(24), runId: "01a1e4b6-90ed-7000-83a9-24b781504a5d", phase: "tool read" };

describe("the run to blame", () => {
  it("is the one that noted something last, since the last beat", () => {
    const memory = new WatchdogMemory();
    memory.beat();
    memory.note(bob);
    memory.note(ann);
    expect(new WatchdogMemory(memory.buffer).blame()).toEqual(ann);
  });

  it("is not one that noted something before the last beat: that has ended", () => {
    const memory = new WatchdogMemory();
    memory.note(ann);
    memory.beat();
    expect(memory.blame()).toBeUndefined();
  });

  it("is the only one with a tool at work, and none of several", () => {
    const memory = new WatchdogMemory();
    memory.note(ann);
    memory.tools(1, bob);
    memory.beat();
    expect(memory.blame()).toEqual(bob);
    memory.tools(2, bob);
    expect(memory.blame()).toBeUndefined();
  });

  it("is none at the start", () => {
    expect(new WatchdogMemory().blame()).toBeUndefined();
  });

  it("has a phase that is cut if it is too long", () => {
    const memory = new WatchdogMemory();
    memory.note({ ...ann, phase: "x".repeat(1_000) });
    expect(memory.blame()).toMatchObject({ runId: ann.runId, phase: "x".repeat(255 - 24 - 36 - 2) });
  });
});

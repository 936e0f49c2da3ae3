/** Progress of long work: only for a person at a terminal. */
import { describe, expect, it } from "vitest";
import { progressOf } from "./progress.ts";

function watched(json: boolean, isTTY: boolean) {
  let text = "";
  let time = 0;
  const calls = new Set<() => void>();
  const stderr = { isTTY, write: (more: string) => (text += more) };
  const every = (_: number, call: () => void): (() => void) => {
    calls.add(call);
    return () => calls.delete(call);
  };
  const progress = progressOf({ json, stderr }, { now: () => time, every });
  const pass = (ms: number): void => {
    time += ms;
    for (const call of calls) call();
  };
  return { progress, pass, text: () => text, running: () => calls.size };
}

describe("progress", () => {
  it("is a line for each step, and one now and then while a step lasts", () => {
    const { progress, pass, text, running } = watched(false, true);
    progress.step("Reading.");
    pass(5_000);
    progress.step("Writing.");
    pass(60_000);
    progress.pause();
    pass(60_000);
    progress[Symbol.dispose]();
    pass(5_000);
    expect(text()).toBe("Reading.\n  … still working, 5 s so far\nWriting.\n  … still working, 1 min so far\n");
    expect(running()).toBe(0);
  });

  it.each([
    [true, true],
    [false, false],
    [true, false],
  ])("says nothing with json %s and a terminal %s", (json, isTTY) => {
    const { progress, pass, text } = watched(json, isTTY);
    progress.step("Reading.");
    pass(10_000);
    progress[Symbol.dispose]();
    expect(text()).toBe("");
  });
});

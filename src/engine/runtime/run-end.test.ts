/** A run in memory: which reason ends it, what a step resets, whose limits it has, and how long an ending is waited for. No engine. */

import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import type { AgentId, RunId, SessionId } from "../../core/ids.ts";
import type { CallRecord } from "../../core/run/run.ts";
import { graceAfter, LiveRun, runTimeOf } from "./live-run.ts";

const call = (callId: string, state: CallRecord["state"]): CallRecord => ({
  ...{ callId, name: "t", arguments: {}, replay: "safe", state },
});
const body = { lane: "main" as const, seqs: [1], calls: [], iterations: 0, deliveries: 0 };
const live = (more: object = {}) =>
  new LiveRun(
    {
      ...{ id: "r" as RunId, agentId: "a" as AgentId, sessionId: "s" as SessionId, startedAt: 5, step: 3, attempt: 2 },
      body: { ...body, ...more },
    },
    testSettings().current,
    { timeoutMs: 1, maxIterations: 1 },
  );

describe("the end of a run", () => {
  type EndReason = Parameters<LiveRun["end"]>[0];
  test.each<[EndReason[], EndReason, boolean]>([
    [["person"], "person", true],
    [["drain"], "drain", false],
    [["lost"], "lost", true],
    [["timeout", "person"], "timeout", true],
    [["drain", "person"], "person", true],
    [["person", "drain"], "person", true],
    [["drain", "lost"], "lost", true],
    [["lost", "person"], "lost", true],
  ])("asked for as %j is %s, and tools are stopped: %s", (reasons, reason, stopsTools) => {
    const run = live();
    expect([run.endReason, run.signal.aborted, run.toolSignal.aborted]).toEqual([undefined, false, false]);
    for (const one of reasons) run.end(one);
    expect([run.endReason, run.signal.aborted, run.toolSignal.aborted]).toEqual([reason, true, stopsTools]);
  });
});

describe("a step", () => {
  it("is progress: attempts count from one again, and the trial is over", () => {
    const run = live();
    let steps = 0;
    run.onStep = () => {
      steps += 1;
      expect(run.step).toBe(4);
    };
    run.trial = { deaths: [1], survived: 0 };
    run.failedMeasures.add("summary" as never);
    run.started.add("c");
    run.stepped({ ...body, iterations: 7 });
    expect([run.step, run.attempt, run.trial, run.body.iterations, steps]).toEqual([4, 1, undefined, 7, 1]);
    expect([run.failedMeasures.size, run.started.size]).toEqual([1, 1]);
    expect(run.position).toEqual({ agentId: "a", runId: "r", attempt: 1, step: 4 });
  });

  it("with an answer lets every measure be taken again, and none of its calls has started", () => {
    const run = live();
    run.failedMeasures.add("summary" as never);
    run.started.add("c");
    run.answered({ ...body, iterations: 1 });
    expect([run.step, run.body.iterations, run.failedMeasures.size, run.started.size]).toEqual([4, 1, 0, 0]);
  });
});

it("has open calls until each has a result", () => {
  const run = live({ calls: [call("a", "asked"), call("b", "intended"), call("c", "done")] });
  expect(run.openCalls.map(({ callId }) => callId)).toEqual(["a", "b"]);
});

it("counts a call that left no entry, and nothing for one without usage", () => {
  const run = live();
  run.countLost(undefined);
  expect(run.body.usage).toBeUndefined();
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
  run.countLost(usage);
  run.countLost(usage);
  expect(run.body.usage).toMatchObject({ input: 20, output: 10 });
});

it("names its step in the condition of a commit, and the abort mark only if the commit may pass it", () => {
  const run = live();
  expect(run.guard()).toEqual({ id: "r", step: 3, evenAborted: undefined });
  expect(run.guard(true)).toEqual({ id: "r", step: 3, evenAborted: true });
  expect(run.identity).toEqual({ id: "r", agentId: "a", sessionId: "s", startedAt: 5 });
});

describe("the time and turns of a run", () => {
  const general = { timeoutSeconds: 600, maxIterations: 50 };
  test.each<[string, object | undefined, object | undefined, object]>([
    ["of the configuration", undefined, undefined, { timeoutMs: 600_000, maxIterations: 50 }],
    ["of the profile", { timeoutSeconds: 7, maxIterations: 8 }, undefined, { timeoutMs: 7_000, maxIterations: 8 }],
    ["of the profile in part", { maxIterations: 8 }, undefined, { timeoutMs: 600_000, maxIterations: 8 }],
    ["of the message", { timeoutSeconds: 7 }, { timeoutSeconds: 2 }, { timeoutMs: 2_000, maxIterations: 50 }],
    ["of the message, none at all", { timeoutSeconds: 7 }, { timeoutSeconds: 0 }, { timeoutMs: 0, maxIterations: 50 }],
  ])("are those %s", (_name, limits, overrides, wanted) => {
    const { current } = testSettings({ runs: general, profiles: { main: { limits } } });
    expect(runTimeOf(current, { profile: "main" }, overrides)).toEqual(wanted);
  });
  test("are ten minutes and 500 turns where nothing is set", () => {
    const time = runTimeOf(testSettings().current, { profile: "main" });
    expect(time).toEqual({ timeoutMs: 600_000, maxIterations: 500 });
  });
});

describe("the grace period after an abort", () => {
  const watch = (grace: { over: Promise<undefined> }) => {
    const seen = { over: false };
    void grace.over.then(() => {
      seen.over = true;
    });
    return seen;
  };

  it("begins with the signal and lasts as long as it is given", async () => {
    const clock = virtualClock();
    const stop = new AbortController();
    const seen = watch(graceAfter(clock, 100, stop.signal));
    await clock.advance(1_000);
    expect([seen.over, clock.timers]).toEqual([false, 0]);
    stop.abort();
    await clock.advance(99);
    expect(seen.over).toBe(false);
    await clock.advance(1);
    expect(seen.over).toBe(true);
  });

  it("begins at once after a signal that came before", async () => {
    const clock = virtualClock();
    const seen = watch(graceAfter(clock, 100, AbortSignal.abort()));
    await clock.advance(100);
    expect(seen.over).toBe(true);
  });

  it("leaves no timer and no listener once it is cancelled", async () => {
    const clock = virtualClock();
    const [before, after] = [new AbortController(), new AbortController()];
    graceAfter(clock, 100, before.signal).cancel();
    before.abort();
    const grace = graceAfter(clock, 100, after.signal);
    after.abort();
    grace.cancel();
    expect(clock.timers).toBe(0);
  });
});

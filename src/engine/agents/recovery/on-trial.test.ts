/** One run on trial, with a queue of trials that records: what ends the trial, what is committed, and what it leaves behind. */
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import type { Change } from "../../../core/store/change.ts";
import { LiveRun } from "../../runtime/live-run.ts";
import { watchTrial } from "./on-trial.ts";

const TRIAL: RunTrial = { deaths: [4], survived: 0 };

function world(known: RunTrial = TRIAL, { ok = true, noted = true }: { ok?: boolean; noted?: boolean } = {}) {
  const clock = virtualClock();
  const changes: Change[] = [];
  const seen: string[] = [];
  let fails = false;
  let held = Promise.resolve();
  let standDown = (): void => {};
  const store = {
    commit: async (change: Change) => {
      changes.push(change);
      await held;
      if (fails) throw new TypeError("away");
      return ok ? { ok, results: [] } : { ok, refused: "conflict", detail: "another step" };
    },
    outcome: async () => undefined,
  };
  const trials = {
    leave: () => void seen.push("leave"),
    survived: () => void seen.push("survived"),
    onDrain: (_actor: unknown, then: () => void) => {
      standDown = then;
    },
  };
  const ports = { clock, store, ids: seededIds("trial"), log: { warn: () => void seen.push("warn") } };
  const stored = [{ site: "stored", at: 0, node: 1 }];
  const body = { lane: "main", seqs: [1], calls: [], iterations: 0, deliveries: 0, commits: stored };
  const record = { id: "r", agentId: "a", sessionId: "s", startedAt: 0, step: 3, attempt: 2, body };
  const run = new LiveRun(record as never, {} as never);
  run.trial = known;
  const commits = [{ site: "take", at: 1, node: 1 }];
  const lease = { agentId: "a", node: 2, epoch: 9, sessionId: "s", commitsOf: () => (noted ? commits : undefined) };
  const stop = watchTrial({ host: { ports, trials } } as never, lease as never, run, known);
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const pass = (ms: number) => clock.advance(ms, settle);
  const trialIn = (change: Change | undefined): unknown => {
    const [op] = change?.ops ?? [];
    return op?.op === "run.amend" ? op.body.trial : undefined;
  };
  const failing = (now: boolean): void => {
    fails = now;
  };
  /** Commits wait until the returned function is called. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  return { hold, clock, changes, seen, run, stop, pass, settle, standDown: () => standDown(), trialIn, failing };
}

describe("a trial", () => {
  it("that the run lives through without a step is committed once, and the run goes on as an ordinary one", async () => {
    const { pass, changes, seen, run, trialIn } = world();
    await pass(9_999);
    expect(changes).toEqual([]);
    await pass(1);
    expect(changes.map(({ site }) => site)).toEqual(["trial.survived"]);
    expect(trialIn(changes[0])).toEqual({ deaths: [4], survived: 1, note: undefined });
    expect(changes[0]).toMatchObject({
      owner: { agentId: "a", node: 2, epoch: 9, sessionId: "s", run: { id: "r", step: 3, evenAborted: true } },
      ops: [{ op: "run.amend", body: { lane: "main", seqs: [1], commits: [{ site: "take" }] } }],
    });
    expect([seen, run.trial]).toEqual([["survived"], { deaths: [4], survived: 1, note: undefined }]);
    await pass(3600_000);
    expect(changes).toHaveLength(1);
  });

  it("lasts six times longer after each one that the run has survived", async () => {
    const { pass, changes } = world({ deaths: [], survived: 1 });
    await pass(59_999);
    expect(changes).toEqual([]);
    await pass(1);
    expect(changes).toHaveLength(1);
  });

  it("ends with a step: the next may be tried, and nothing is committed", async () => {
    const { pass, changes, seen, run, clock } = world();
    run.stepped(run.body);
    expect([seen, clock.timers]).toEqual([["leave"], 0]);
    await pass(3600_000);
    expect(changes).toEqual([]);
  });

  it("that could not be recorded is tried again each second, until it is or the run has ended", async () => {
    const { pass, changes, seen, failing, clock, stop } = world();
    failing(true);
    await pass(12_000);
    expect([changes.length, seen]).toEqual([3, ["warn", "warn", "warn"]]);
    failing(false);
    await pass(1_000);
    expect([changes.length, seen.at(-1)]).toEqual([4, "survived"]);
    stop();
    expect(clock.timers).toBe(0);
  });

  it("of a run that ended while its record was being written is not tried again", async () => {
    const { pass, changes, failing, clock, stop, run, settle, hold } = world();
    failing(true);
    const written = hold();
    await pass(10_000);
    expect(changes).toHaveLength(1);
    stop();
    written();
    await settle();
    expect([clock.timers, run.trial, run.onStep]).toEqual([0, undefined, undefined]);
    await pass(3600_000);
    expect(changes).toHaveLength(1);
  });

  it("does not go on when its run has ended", async () => {
    const { pass, changes, stop, clock, run } = world();
    stop();
    expect([clock.timers, run.trial, run.onStep]).toEqual([0, undefined, undefined]);
    await pass(3600_000);
    expect(changes).toEqual([]);
  });

  it("ends when the node drains, and that is no trial the run has survived", async () => {
    const { standDown, changes, settle, trialIn, clock } = world();
    standDown();
    await settle();
    expect(changes.map(({ site }) => site)).toEqual(["trial.drained"]);
    expect([trialIn(changes[0]), clock.timers]).toEqual([TRIAL, 0]);
  });

  it("keeps the commits that are in the run's record, if this lease has made none", async () => {
    const { pass, changes } = world(TRIAL, { noted: false });
    await pass(10_000);
    expect(changes[0]).toMatchObject({ ops: [{ body: { commits: [{ site: "stored" }] } }] });
  });

  it("whose record was refused leaves the mark in memory as it was: another step is in the store", async () => {
    const { pass, run } = world(TRIAL, { ok: false });
    await pass(10_000);
    expect(run.trial).toBe(TRIAL);
  });

  it("that the run has left with a step meanwhile sets no mark again", async () => {
    const { pass, run, hold, settle } = world();
    const written = hold();
    await pass(10_000);
    run.stepped(run.body);
    written();
    await settle();
    expect(run.trial).toBeUndefined();
  });
});

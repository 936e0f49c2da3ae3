/** One run on trial: when its trial ends, what is recorded of it, and what the run keeps (M13). */
import { beforeEach, describe, expect, it } from "vitest";
import type { TestEngine } from "../../../../test/kit/engine.ts";
import { gate } from "../../../../test/kit/gate.ts";
import type { Reply } from "../../../../test/kit/model.ts";
import { timedEngine } from "./trials.test-kit.ts";

/** Two crashes make the run a suspect; it is on trial at once, for ten seconds. */
let engine: TestEngine;
const trial = async () => (await engine.runs())[0]?.body.trial;
const survivals = (): number => engine.commits.filter(({ site }) => site === "trial.survived").length;
beforeEach(async () => {
  engine = await timedEngine();
  await engine.tell("takes 300000");
  await engine.restart();
  await engine.restart();
  expect((await trial())?.on).toMatchObject({ alone: true });
});

describe("a trial", () => {
  it("ends once after its time, and the run continues as an ordinary one", async () => {
    await engine.advance(9_999);
    expect((await trial())?.on).toBeDefined();
    await engine.advance(1);
    expect(await trial()).toEqual({ deaths: [], survived: 1 });
    await engine.advance(200_000);
    expect(survivals()).toBe(1);
    const after = (await engine.runs())[0];
    expect(after).toMatchObject({ state: "open", attempt: 3, body: { seqs: [1] } });
    // Its record still lists its commits.
    expect(after?.body.commits?.map(({ site }) => site)).toEqual(["take", "resume", "resume"]);
  });

  it("is tried again each second if its end cannot be recorded", async () => {
    engine.onCommit = ({ site }) => (site === "trial.survived" ? "full" : "go");
    await engine.advance(12_000);
    expect((await trial())?.on).toBeDefined();
    expect(engine.logged("warn").filter((line) => line.includes("could not record the end of a trial"))).toHaveLength(
      3,
    );
    engine.onCommit = () => "go";
    await engine.advance(1_000);
    expect(await trial()).toMatchObject({ survived: 1 });
  });

  it("is not recorded after its run has ended", async () => {
    engine.onCommit = ({ site }) => (site === "trial.survived" ? "full" : "go");
    await engine.advance(10_000);
    const [run] = await engine.runs();
    if (run) await engine.system.runs.abort(run.id);
    await engine.settle();
    const warned = engine.logged("warn").length;
    await engine.advance(60_000);
    expect([(await engine.runs())[0]?.state, engine.logged("warn").length]).toEqual(["ended", warned]);
  });

  it("ends with a drain, which is not a trial survived", async () => {
    await engine.advance(5_000);
    const drained = engine.system.drain();
    await engine.settle();
    await drained;
    expect((await trial())?.survived ?? 0).toBe(0);
    expect((await trial())?.on).toBeUndefined();
  });
});

it("ends with a step, and the next crash starts from nothing", async () => {
  const hold = gate<Reply>();
  engine.script = ({ request }) =>
    request.messages.at(-1)?.role === "tool" ? hold.promise : { call: [{ name: "none" }] };
  // The trial that is under way waits for its model; another process tries again.
  await engine.restart();
  await engine.advance(30_000);
  expect((await engine.runs())[0]).toMatchObject({ state: "open", attempt: 1 });
  expect(await trial()).toBeUndefined();
  await engine.advance(60_000);
  expect([survivals(), await trial()]).toEqual([0, undefined]);
  hold.open("done");
  await engine.settle();
  expect(engine.shown()).toEqual(["done"]);
});

it("keeps no mark if the run ends while its survival is being recorded", async () => {
  const paused = engine.pauseAt("trial.survived");
  await engine.advance(10_000);
  await paused.reached;
  await engine.advance(300_000);
  paused.release();
  await engine.advance(5_000);
  expect((await engine.runs())[0]).toMatchObject({ state: "ended", outcome: "ok" });
  expect([await trial(), engine.shown()]).toEqual([undefined, ["answer to takes 300000"]]);
});

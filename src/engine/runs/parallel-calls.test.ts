/** A batch of parallel calls when one of them is suspended, or when the program stops or dies (L4). */
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { SuspendedError } from "../../core/errors.ts";

/** Three calls at once: one is finished, one is under way, one waits for something and is suspended. */
async function batch() {
  const held = { slow: gate<string>(), wait: gate<string>() };
  const engine = await TestEngine.open({
    script: ({ request }) =>
      request.messages.at(-1)?.role === "tool"
        ? "done"
        : { call: [{ name: "wait" }, { name: "quick" }, { name: "slow" }, { name: "after" }] },
    tools: {
      wait: {
        parallel: true,
        execute: async () => {
          const said = await held.wait.promise;
          if (said === "stop") throw new SuspendedError("The program is stopping.");
          return said;
        },
      },
      quick: { parallel: true, replay: "never" },
      slow: { parallel: true, replay: "never", execute: () => held.slow.promise },
      after: { replay: "never" },
    },
  });
  await engine.tell("go");
  return { engine, held };
}

const names = (engine: TestEngine): string[] => engine.executions.map(({ name }) => name);
const results = async (engine: TestEngine): Promise<string[]> =>
  (await engine.transcript()).filter((line) => line.startsWith("tool: "));

/** After the restart the wait is over. */
async function resume(engine: TestEngine, held: Awaited<ReturnType<typeof batch>>["held"]): Promise<void> {
  held.wait = gate<string>();
  held.wait.open("wait done");
  await engine.restart();
}

describe("a call that is suspended", () => {
  it("leaves the other calls of its batch alone: they finish, their results are kept, and none is repeated", async () => {
    const { engine, held } = await batch();
    const drained = engine.system.drain();
    held.wait.open("stop");
    await engine.settle();
    // The run waits for the call that is still under way.
    expect(await results(engine)).toEqual([]);
    held.slow.open("slow done");
    await engine.settle();
    await drained;
    expect(await results(engine)).toEqual(["tool: quick done", "tool: slow done"]);
    expect((await engine.runs())[0]?.body.calls.map(({ name, state }) => `${name} ${state}`)).toEqual([
      "wait asked",
      "quick done",
      "slow done",
      "after asked",
    ]);
    await resume(engine, held);
    expect(names(engine)).toEqual(["wait", "quick", "slow", "wait", "after"]);
    expect(await results(engine)).toEqual([
      "tool: quick done",
      "tool: slow done",
      "tool: wait done",
      "tool: after done",
    ]);
    expect(engine.shown()).toEqual(["done"]);
  });

  it("pauses its run without a drain too, and is called again", async () => {
    const { engine, held } = await batch();
    held.slow.open("slow done");
    const first = held.wait;
    held.wait = gate<string>();
    held.wait.open("wait done");
    first.open("stop");
    await engine.settle();
    expect(names(engine)).toEqual(["wait", "quick", "slow", "wait", "after"]);
    expect(engine.shown()).toEqual(["done"]);
  });

  it.each([
    ["before", "result"],
    ["after", "result"],
    ["before", "pause"],
    ["after", "pause"],
  ] as const)("repeats no other call if the program dies %s the commit of the %s", async (moment, site) => {
    const { engine, held } = await batch();
    engine.onCommit = (change) => (change.site === site ? `die-${moment}` : "go");
    void engine.system.drain();
    held.wait.open("stop");
    held.slow.open("slow done");
    await engine.settle();
    expect(engine.alive).toBe(false);
    await resume(engine, held);
    expect(names(engine)).toEqual(["wait", "quick", "slow", "wait", "after"]);
    expect(engine.shown()).toEqual(["done"]);
    // Without their results the outcome of both is unknown, which the model reads.
    const unknown = (await results(engine)).filter((line) => line.includes("Outcome unknown"));
    expect(unknown).toHaveLength(site === "result" && moment === "before" ? 2 : 0);
  });

  it("alone in its batch is asked again after the restart, also if its tool must not be repeated", async () => {
    let times = 0;
    const engine = await TestEngine.open({
      script: ({ request }) => (request.messages.at(-1)?.role === "tool" ? "done" : { call: [{ name: "ask" }] }),
      tools: {
        ask: {
          replay: "never",
          execute: () => {
            times += 1;
            if (times === 1) throw new SuspendedError("The program is stopping.");
            return "approved";
          },
        },
      },
    });
    await engine.tell("go");
    expect(await results(engine)).toEqual(["tool: approved"]);
    expect(engine.shown()).toEqual(["done"]);
  });
});

describe("a drain during a parallel batch", () => {
  it("lets all calls finish, keeps their results, and marks nothing as started that is not", async () => {
    const { engine, held } = await batch();
    const drained = engine.system.drain();
    await engine.settle();
    held.wait.open("wait done");
    held.slow.open("slow done");
    await engine.settle();
    await drained;
    // The commit of the results already knows that the run pauses: a crash before the pause leaves no false intent.
    const result = engine.commits.findLast(({ site }) => site === "result");
    const step = result?.ops.find((op) => op.op === "run.step");
    expect(step?.op === "run.step" && step.body.calls.map(({ state }) => state)).toEqual([
      "done",
      "done",
      "done",
      "asked",
    ]);
    await engine.restart();
    expect(names(engine)).toEqual(["wait", "quick", "slow", "after"]);
    expect(engine.shown()).toEqual(["done"]);
  });
});

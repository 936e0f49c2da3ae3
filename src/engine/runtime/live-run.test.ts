import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { stall } from "../../../test/kit/model.ts";
import { DEFAULT_CONTEXT_LIMITS } from "../../core/history/compaction-settings.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";

const wishing = (engine: TestEngine, wishes: RunOverrides, text = "go") =>
  engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text, wishes } }, { timeoutMs: 3_600_000 });

describe("the overrides of a message", () => {
  it("apply to its run and to no other", async () => {
    const heard: (RunOverrides | undefined)[] = [];
    const resolveModel = (_: unknown, wishes?: RunOverrides) => {
      heard.push(wishes);
      return { model: "scripted", system: "You are under test." };
    };
    const engine = await TestEngine.open({ system: { resolveModel } });
    await wishing(engine, { model: "other", extraSystemPrompt: "Be brief." });
    await engine.say("and now without");
    await engine.settle();
    expect(heard).toEqual([{ model: "other", extraSystemPrompt: "Be brief." }, undefined]);
  });

  it("are the same after a crash in the middle of the run", async () => {
    const heard: (RunOverrides | undefined)[] = [];
    const resolveModel = (_: unknown, wishes?: RunOverrides) => {
      heard.push(wishes);
      return { model: "scripted", system: "You are under test." };
    };
    const engine = await TestEngine.open({
      system: { resolveModel },
      script: async ({ n }) => (n === 1 ? { call: [{ name: "work" }] } : "done"),
      tools: { work: {} },
    });
    engine.onCommit = (change) => (change.site === "rest" ? "die-before" : "go");
    await engine.system.post({ ...engine.person(), body: { kind: "user", text: "go", wishes: { thinking: "high" } } });
    await engine.settle();
    await engine.restart();
    // Resolved once by the run, and once more when the run is resumed.
    expect(heard).toEqual([{ thinking: "high" }, { thinking: "high" }]);
  });
});

describe("the model, the prompt and the limits of a run", () => {
  const open = async (steps: number) => {
    let models = 0;
    let contexts = 0;
    const engine = await TestEngine.open({
      script: async ({ n }) => (n % (steps + 1) === 0 ? "done" : { call: [{ name: "work" }] }),
      tools: { work: {} },
      system: {
        resolveModel: () => ({ model: `scripted-${++models}`, system: "You are under test." }),
        contextLimits: () => {
          contexts += 1;
          return DEFAULT_CONTEXT_LIMITS;
        },
      },
    });
    return { engine, counts: () => ({ models, contexts }) };
  };

  it("are resolved once per run, even if it has many steps", async () => {
    const { engine, counts } = await open(3);
    await engine.tell("one");
    // The check before an agent's first run has no run that could provide the limits.
    expect(counts()).toEqual({ models: 1, contexts: 2 });
    await engine.tell("two");
    expect(counts()).toEqual({ models: 2, contexts: 3 });
    expect(engine.requests.map(({ model }) => model.at(-1)).join("")).toBe("11112222");
  });

  it("are resolved again for every run", async () => {
    const { engine, counts } = await open(0);
    for (const text of ["one", "two", "three"]) await engine.tell(text);
    expect(counts()).toEqual({ models: 3, contexts: 4 });
  });
});

describe("the limit of a run", () => {
  it.each([
    ["the node's setting", undefined, {}, 600],
    ["its profile's limit", 30, {}, 30],
    ["its message's override", 30, { timeoutSeconds: 5 }, 5],
  ])("in time is %s", async (_, timeoutSeconds, wishes, seconds) => {
    const engine = await TestEngine.open({
      script: (call) => stall(call, new Promise(() => {})),
      settings: { profiles: { main: { limits: { timeoutSeconds } } } },
    });
    const answer = wishing(engine, wishes);
    await engine.advance(seconds * 1000 - 1);
    expect((await engine.runs()).at(-1)?.state).toBe("open");
    await engine.advance(10_000);
    expect((await answer).result).toMatchObject({
      outcome: "timeout",
      meta: { error: { message: `The run took longer than ${seconds} seconds and was ended.` } },
    });
  });

  it("in turns is its profile's limit", async () => {
    const engine = await TestEngine.open({
      script: async () => ({ call: [{ name: "work" }] }),
      tools: { work: {} },
      settings: { profiles: { main: { limits: { maxIterations: 3 } } } },
    });
    const { result } = await engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "go" } });
    expect(result?.meta.error?.kind).toBe("tool_limit");
    expect(engine.requests).toHaveLength(3);
  });
});

import { describe, expect, it } from "vitest";
import type { RunWishes } from "../../core/message/run-overrides.ts";
import { Nest, stall } from "../agents/engine.test-kit.ts";

const wishing = (nest: Nest, wishes: RunWishes, text = "go") =>
  nest.system.postAndAwait({ ...nest.person(), body: { kind: "user", text, wishes } }, { timeoutMs: 3_600_000 });

describe("what a message wants for its run", () => {
  it("holds for that run and for no other", async () => {
    const heard: (RunWishes | undefined)[] = [];
    const voice = (_: unknown, wishes?: RunWishes) => {
      heard.push(wishes);
      return { model: "scripted", system: "You are under test." };
    };
    const nest = await Nest.open({ system: { voice } });
    await wishing(nest, { model: "other", extraSystemPrompt: "Be brief." });
    await nest.say("and now without");
    await nest.settle();
    expect(heard).toEqual([{ model: "other", extraSystemPrompt: "Be brief." }, undefined]);
  });

  it("is the same after a crash in the middle of the run", async () => {
    const heard: (RunWishes | undefined)[] = [];
    const voice = (_: unknown, wishes?: RunWishes) => {
      heard.push(wishes);
      return { model: "scripted", system: "You are under test." };
    };
    const nest = await Nest.open({
      system: { voice },
      script: async ({ n }) => (n === 1 ? { call: [{ name: "work" }] } : "done"),
      tools: { work: {} },
    });
    nest.fate = (change) => (change.site === "rest" ? "die-before" : "go");
    await nest.system.post({ ...nest.person(), body: { kind: "user", text: "go", wishes: { thinking: "high" } } });
    await nest.settle();
    await nest.restart();
    expect(heard.length).toBeGreaterThan(2);
    expect(heard.every((wishes) => wishes?.thinking === "high")).toBe(true);
  });
});

describe("how long a run may take", () => {
  it.each([
    ["the node's setting", undefined, {}, 600],
    ["its profile's limit", 30_000, {}, 30],
    ["what its message wants", 30_000, { timeoutSeconds: 5 }, 5],
  ])("is %s", async (_, timeoutMs, wishes, seconds) => {
    const nest = await Nest.open({
      script: (call) => stall(call, new Promise(() => {})),
      system: timeoutMs === undefined ? {} : { limits: () => ({ timeoutMs }) },
    });
    const answer = wishing(nest, wishes);
    await nest.advance(seconds * 1000 - 1);
    expect((await nest.runs()).at(-1)?.state).toBe("open");
    await nest.advance(10_000);
    expect((await answer).result).toMatchObject({
      outcome: "timeout",
      meta: { error: { message: `The run took longer than ${seconds} seconds and was ended.` } },
    });
  });

  it("is how many turns its profile allows", async () => {
    const nest = await Nest.open({
      script: async () => ({ call: [{ name: "work" }] }),
      tools: { work: {} },
      system: { limits: () => ({ maxIterations: 3 }) },
    });
    const { result } = await nest.system.postAndAwait({ ...nest.person(), body: { kind: "user", text: "go" } });
    expect(result?.meta.error?.kind).toBe("tool_limit");
    expect(nest.requests).toHaveLength(3);
  });
});

import { describe, expect, it, test } from "vitest";
import { testSettings } from "../../../test/kit/settings.ts";
import {
  type ContextLimits,
  contextThresholds,
  DEFAULT_CONTEXT_LIMITS,
} from "../../core/history/compaction-settings.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun, RunSetup } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { measureAtRest, renewTools, setupOf } from "./measure-context.ts";

const limits = (more: Partial<ContextLimits>): ContextLimits => ({ ...DEFAULT_CONTEXT_LIMITS, ...more });

describe("a context between runs", () => {
  /** Critical at 900: a context below 225 tokens is small. The prompt has 400 characters. */
  const bounds = limits({ contextWindow: 1_000, reserveTokens: 0, reserveTokensFloor: 0 });
  function rest(size: { counted?: number; since: number; all: number } | undefined, known: object = {}) {
    const asked = { limits: 0, prompts: 0 };
    const ports = {
      settings: testSettings(),
      contextLimits: async () => {
        asked.limits += 1;
        return bounds;
      },
      resolveModel: async () => {
        asked.prompts += 1;
        return { model: "m", system: "p".repeat(400) };
      },
      tools: { list: () => [] },
    } as unknown as RunPorts;
    const context = { size, ...known };
    const lease = { record: {}, context, messages: async () => [] } as unknown as AgentLease;
    return { asked, measure: () => measureAtRest(ports, lease) };
  }

  test.each([
    ["a small one is measured without its prompt", { since: 0, all: 224 }, {}, 224, 0, 0],
    ["a larger one with its prompt", { since: 0, all: 225 }, {}, 325, 100, 1],
    ["one that the provider has counted without it", { counted: 500, since: 20, all: 400 }, {}, 520, 0, 0],
    ["one with the prompt of the last run by that", { since: 0, all: 300 }, { overhead: 70 }, 370, 70, 0],
    ["an empty one is nothing", undefined, {}, 0, 0, 0],
  ])("%s", async (_title, size, known, tokens, overhead, prompts) => {
    const { measure, asked } = rest(size, known);
    expect(await measure()).toMatchObject({ tokens, overhead, limits: bounds, thresholds: { critical: 900 } });
    // The second look costs nothing.
    expect(await measure()).toMatchObject({ tokens, overhead });
    expect(asked).toEqual({ limits: 1, prompts });
  });

  it("keeps the limits of the last run", async () => {
    const own = { limits: limits({ contextWindow: 50 }), thresholds: contextThresholds(limits({ contextWindow: 50 })) };
    const { measure, asked } = rest({ since: 0, all: 10 }, { bounds: own, overhead: 0 });
    expect(await measure()).toMatchObject(own);
    expect(asked.limits).toBe(0);
  });
});

describe("the setup of a run", () => {
  const tool = (name: string) => ({ name, description: "d", parameters: { type: "object" } });
  const given = (name: string) => ({ name, description: "of the caller", parameters: { type: "object" } });
  function world(wishes?: object, more: object = {}) {
    const asked: unknown[] = [];
    let own = [tool("read"), tool("write")];
    const ports = {
      resolveModel: async (_: unknown, overrides: unknown) => {
        asked.push(overrides);
        return { model: "m", temperature: 0.1, system: "p".repeat(400), ...more };
      },
      contextLimits: async () => limits({ contextWindow: 1_000 }),
      tools: { list: () => own },
    } as unknown as RunPorts;
    const context: { overhead?: number; bounds?: object } = {};
    const lease = { record: { id: "a" }, context } as unknown as AgentLease;
    const run = { body: { wishes, behalf: { person: "ann" } } } as unknown as LiveRun;
    return {
      ...{ run, context, asked, ports, lease },
      setup: () => setupOf(ports, lease, run),
      tools: (names: readonly string[]) => {
        own = names.map(tool);
      },
    };
  }
  const names = (setup: RunSetup | undefined) => setup?.tools.map(({ name }) => name);

  it("is resolved once, with the wishes of its message", async () => {
    const { setup, asked, run, context } = world({ temperature: 0 });
    const first = await setup();
    expect(await setup()).toBe(first);
    expect(asked).toEqual([{ temperature: 0 }]);
    expect(first).toMatchObject({ choice: { model: "m", temperature: 0 }, limits: { contextWindow: 1_000 } });
    expect(first.overhead).toBeGreaterThan(100);
    expect([context.overhead, context.bounds]).toEqual([
      first.overhead,
      { limits: first.limits, thresholds: first.thresholds },
    ]);
    expect(run.body.behalf).toEqual({ person: "ann" });
  });

  it("keeps the temperature of its model if the message has none, and the default limits if there are none", async () => {
    const { setup, ports } = world();
    Object.assign(ports, { contextLimits: undefined });
    expect(await setup()).toMatchObject({ choice: { temperature: 0.1 }, limits: DEFAULT_CONTEXT_LIMITS });
  });

  it("with a model for this run only leaves the limits between runs open", async () => {
    const { setup, context } = world({ model: "other" });
    await setup();
    expect(context.bounds).toBeUndefined();
    expect(context.overhead).toBeGreaterThan(100);
  });

  it("has the caller's tools last, in the place of those of the same name", async () => {
    const { setup } = world({ tools: [given("write"), given("ask")] });
    const made = await setup();
    expect(names(made)).toEqual(["read", "write", "ask"]);
    expect(made.tools[1]?.description).toBe("of the caller");
    const alone = await world().setup();
    expect(names(alone)).toEqual(["read", "write"]);
    expect(made.overhead).toBeGreaterThan(alone.overhead);
    expect((await world({ tools: [] }).setup()).overhead).toBe(alone.overhead);
    expect(names(await world({ tools: [given("ask")] }).setup())).toEqual(["read", "write", "ask"]);
  });

  it("is sent the very list of the run before while its host returns the same one, and another afterwards", async () => {
    const { setup, tools, ports, lease, run } = world();
    const { tools: first } = await setup();
    const next = () => setupOf(ports, lease, { body: run.body } as LiveRun);
    expect((await next()).tools).toBe(first);
    tools(["read", "write"]);
    const { tools: second } = await next();
    expect(second).not.toBe(first);
    expect(second).toEqual(first);
  });

  it("shows the tools that fit the window, if there is a choice", async () => {
    const { setup, ports } = world();
    Object.assign(ports.tools, { shown: (_: unknown, window: number) => [tool(`for ${window}`)] });
    expect(names(await setup())).toEqual(["for 1000"]);
  });

  it("marks the run if a part of its prompt was written with untrusted text in context", async () => {
    const { setup, run } = world(undefined, { report: { parts: [{ untrusted: true }] } });
    await setup();
    expect(run.body.behalf).toEqual({ person: "ann", untrusted: true });
  });

  it("gets the tools that the run has found, and their size", async () => {
    const { setup, tools, ports, lease, run, context } = world();
    renewTools(ports, lease, run);
    expect(run.setup).toBeUndefined();
    const before = await setup();
    tools(["read", "write", "found"]);
    renewTools(ports, lease, run);
    expect(names(run.setup)).toEqual(["read", "write", "found"]);
    expect(run.setup).toMatchObject({ choice: before.choice, system: before.system, limits: before.limits });
    expect(run.setup?.overhead).toBeGreaterThan(before.overhead);
    expect(context.overhead).toBe(run.setup?.overhead);
  });
});

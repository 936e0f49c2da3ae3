import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import type { TreeNode } from "../../core/agent/agent-tree.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { AgentId, ChangeId } from "../../core/ids.ts";
import { seedAgent } from "../context/seed-agent.ts";
import { readTree } from "./read-tree.ts";

const ids = seededIds("tree");

async function made(engine: TestEngine, descriptor: AgentDescriptor): Promise<AgentId> {
  const seed = seedAgent(ids, descriptor, engine.clock.now());
  await engine.store.commit({ id: ids.change() as ChangeId, site: "t", at: 1, ops: [{ op: "agent.create", seed }] });
  return seed.id;
}
const child = (engine: TestEngine, parentAgentId: AgentId, name: string): Promise<AgentId> =>
  made(engine, { type: "subagent", id: `${parentAgentId}-${name}`, parentAgentId, name });
const person = (name: string): AgentDescriptor => ({ type: "user", connector: "test", userId: name, channelId: name });
/** `name(children)`, with `…` if there are more. */
const drawn = ({ name, children, more }: TreeNode): string =>
  `${name.replace(/ \(task.*/u, "")}${children.length + Number(more ?? 0) > 0 ? `(${[...children.map(drawn), ...(more ? ["…"] : [])].join(" ")})` : ""}`;

describe("the live tree", () => {
  it("is empty before there is an agent", async () => {
    const engine = await TestEngine.open();
    expect((await engine.system.tree.read()).roots).toEqual([]);
  });

  it("shows which agent started which, from the top or below one agent, up to the given depth and limit", async () => {
    const engine = await TestEngine.open();
    const ann = await made(engine, person("ann"));
    const a = await child(engine, ann, "a");
    await child(engine, a, "a1");
    await child(engine, await child(engine, a, "a2"), "deep");
    await child(engine, ann, "b");
    await made(engine, { type: "heartbeat" });
    const shown = async (options?: Parameters<typeof engine.system.tree.read>[0]) =>
      (await engine.system.tree.read(options)).roots.map(drawn);
    expect(await shown()).toEqual(["heartbeat", "ann on test(a(a1 a2(deep)) b)"]);
    expect(await shown({ root: a })).toEqual(["a(a1 a2(deep))"]);
    expect(await shown({ root: ann, depth: 1 })).toEqual(["ann on test(a(…) b)"]);
    expect(await shown({ root: ann, depth: 0 })).toEqual(["ann on test(…)"]);
    expect(await shown({ limit: 4 })).toEqual(["heartbeat", "ann on test(a(…) b)"]);
    expect(await shown({ root: ann, limit: 2 })).toEqual(["ann on test(a(…) …)"]);
    expect(await engine.system.tree.read({ limit: 1 })).toMatchObject({ more: true, roots: [{ kind: "heartbeat" }] });
    await expect(engine.system.tree.read({ root: "nobody" as AgentId })).rejects.toMatchObject({ code: "not_found" });
  });

  it("shows the state of each agent, its waiting messages and its tokens", async () => {
    const door = gate();
    const engine = await TestEngine.open({
      script: async ({ n }) => {
        if (n > 1) await door.promise;
        return "ok";
      },
    });
    await engine.tell("one");
    await engine.tell("two");
    await engine.tell("three");
    const [node] = (await engine.system.tree.read()).roots;
    const runId = engine.system.runs.live(await engine.agentId())?.id;
    expect(node).toMatchObject({ state: "running", waiting: 1, runId, tokens: 15, lastActivityAt: engine.clock.now() });
    door.open();
    await engine.settle();
    expect((await engine.system.tree.read()).roots[0]).toMatchObject({ state: "resting", waiting: 0, tokens: 45 });
  });

  it("reads no agent that is not shown", async () => {
    const engine = await TestEngine.open();
    const ann = await made(engine, person("ann"));
    for (let n = 0; n < 50; n++) await made(engine, person(`other${n}`));
    await child(engine, ann, "a");
    const asked: string[] = [];
    const { store } = engine;
    for (const name of ["agents", "agentsOfKind", "busyAgents"] as const) {
      const read = store[name] as (...args: unknown[]) => Promise<never>;
      (store as unknown as Record<string, unknown>)[name] = (...args: unknown[]) => {
        asked.push(name);
        return read(...args);
      };
    }
    expect(drawn((await engine.system.tree.read({ root: ann })).roots[0] as TreeNode)).toBe("ann on test(a)");
    expect(asked).toEqual([]);
  });
});

test.each([
  ["its state", { updatedAt: 9, lastHumanAt: 5, createdAt: 3 }, 9],
  ["its person", { updatedAt: 5, lastHumanAt: 9, createdAt: 3 }, 9],
  ["its creation", { updatedAt: 3, lastHumanAt: 5, createdAt: 9 }, 9],
  ["its state, if no person has written", { updatedAt: 9, createdAt: 3 }, 9],
  ["its creation, if no person has written", { updatedAt: 3, createdAt: 9 }, 9],
  ["its creation, at the beginning of time", { updatedAt: 0, createdAt: 0 }, 0],
])("the last activity of an agent is that of %s", async (_, { updatedAt, ...times }, at) => {
  const descriptor = { type: "heartbeat" };
  const agent = { id: "a", sessionKey: "k", descriptor, waiting: 0, state: { updatedAt, stats: {} }, ...times };
  const store = { roots: async () => [agent], children: async () => [], budget: async () => undefined };
  expect((await readTree(store as never, 0)).roots).toMatchObject([{ lastActivityAt: at }]);
});

describe("changes of the tree", () => {
  it("reach listeners together after a moment, only while they listen", async () => {
    const engine = await TestEngine.open();
    const told: (readonly AgentId[])[] = [];
    const stop = engine.system.tree.onChange(({ agents }) => told.push([...agents].sort()));
    await engine.tell("hi");
    await engine.tell("hi", { name: "bob" });
    expect(told).toEqual([]);
    await engine.advance(100);
    expect(told).toEqual([[await engine.agentId(), await engine.agentId("bob")].sort()]);
    await engine.advance(60_000);
    expect(told).toHaveLength(1);
    const timers = engine.clock.timers;
    await engine.tell("again");
    stop();
    await engine.advance(1_000);
    expect(told).toHaveLength(1);
    await engine.tell("nobody listens");
    expect(engine.clock.timers).toBe(timers);
  });

  it("are forgotten with the last listener, and kept for those who still listen", async () => {
    const engine = await TestEngine.open();
    const { tree } = engine.system;
    const told: string[] = [];
    const timers = engine.clock.timers;
    const stopFirst = tree.onChange(() => told.push("first"));
    const stopSecond = tree.onChange(() => told.push("second"));
    tree.changed("a" as AgentId);
    stopFirst();
    expect(engine.clock.timers).toBe(timers + 1);
    await engine.advance(100);
    expect(told).toEqual(["second"]);
    tree.changed("a" as AgentId);
    stopSecond();
    expect(engine.clock.timers).toBe(timers);
    tree.onChange(({ agents }) => told.push(...agents));
    await engine.advance(100);
    expect(told).toEqual(["second"]);
    tree.changed("b" as AgentId);
    await engine.advance(100);
    expect(told).toEqual(["second", "b"]);
  });

  it("are not named if there are too many; a listener that throws does not affect the others", async () => {
    const engine = await TestEngine.open();
    const told: unknown[] = [];
    engine.system.tree.onChange(() => {
      throw new TypeError("not now");
    });
    engine.system.tree.onChange((change) => told.push(change));
    await Promise.all(Array.from({ length: 501 }, (_, n) => engine.say("hi", { name: `p${n}` })));
    await engine.settle();
    await engine.advance(100);
    expect(told).toEqual([{ agents: [], all: true }]);
    expect(engine.logged("warn")).toContain("a listener of the tree failed");
  });
});

import { describe, expect, it } from "vitest";
import type { TreeNode } from "../../core/agent/agent-tree.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { AgentId, ChangeId } from "../../core/ids.ts";
import { gate, Nest, seededIds } from "../agents/engine.test-kit.ts";
import { seedAgent } from "../context/seed-agent.ts";

const ids = seededIds("tree");

async function made(nest: Nest, descriptor: AgentDescriptor): Promise<AgentId> {
  const seed = seedAgent(ids, descriptor, nest.clock.now());
  await nest.store.commit({ id: ids.change() as ChangeId, site: "t", at: 1, ops: [{ op: "agent.create", seed }] });
  return seed.id;
}
const child = (nest: Nest, parentAgentId: AgentId, name: string): Promise<AgentId> =>
  made(nest, { type: "subagent", id: `${parentAgentId}-${name}`, parentAgentId, name });
const person = (name: string): AgentDescriptor => ({ type: "user", connector: "test", userId: name, channelId: name });
/** `label(children)`, with `…` where there are more. */
const drawn = ({ label, children, more }: TreeNode): string =>
  `${label}${children.length + Number(more ?? 0) > 0 ? `(${[...children.map(drawn), ...(more ? ["…"] : [])].join(" ")})` : ""}`;

describe("the live tree", () => {
  it("shows who started whom, from the top or below one agent, as deep and as many as asked for", async () => {
    const nest = await Nest.open();
    const ann = await made(nest, person("ann"));
    const a = await child(nest, ann, "a");
    await child(nest, a, "a1");
    await child(nest, await child(nest, a, "a2"), "deep");
    await child(nest, ann, "b");
    await made(nest, { type: "heartbeat" });
    const shown = async (options?: Parameters<typeof nest.system.tree>[0]) =>
      (await nest.system.tree(options)).roots.map(drawn);
    expect(await shown()).toEqual(["heartbeat", "user(a(a1 a2(deep)) b)"]);
    expect(await shown({ root: a })).toEqual(["a(a1 a2(deep))"]);
    expect(await shown({ root: ann, depth: 1 })).toEqual(["user(a(…) b)"]);
    expect(await shown({ root: ann, depth: 0 })).toEqual(["user(…)"]);
    expect(await shown({ limit: 4 })).toEqual(["heartbeat", "user(a(…) b)"]);
    expect(await shown({ root: ann, limit: 2 })).toEqual(["user(a(…) …)"]);
    expect(await nest.system.tree({ limit: 1 })).toMatchObject({ more: true, roots: [{ kind: "heartbeat" }] });
    await expect(nest.system.tree({ root: "nobody" as AgentId })).rejects.toMatchObject({ code: "not_found" });
  });

  it("shows how each stands: what it does, what waits, what it used", async () => {
    const door = gate();
    const nest = await Nest.open({
      script: async ({ n }) => {
        if (n > 1) await door.promise;
        return "ok";
      },
    });
    await nest.tell("one");
    await nest.tell("two");
    await nest.tell("three");
    const [node] = (await nest.system.tree()).roots;
    const runId = nest.system.liveRun(await nest.agentId())?.id;
    expect(node).toMatchObject({ state: "running", waiting: 1, runId, tokens: 15, lastActivityAt: nest.clock.now() });
    door.open();
    await nest.settle();
    expect((await nest.system.tree()).roots[0]).toMatchObject({ state: "resting", waiting: 0, tokens: 45 });
  });

  it("looks at no agent that is not shown", async () => {
    const nest = await Nest.open();
    const ann = await made(nest, person("ann"));
    for (let n = 0; n < 50; n++) await made(nest, person(`other${n}`));
    await child(nest, ann, "a");
    const asked: string[] = [];
    const { store } = nest;
    for (const name of ["agents", "agentsOfKind", "busyAgents"] as const) {
      const read = store[name] as (...args: unknown[]) => Promise<never>;
      (store as unknown as Record<string, unknown>)[name] = (...args: unknown[]) => {
        asked.push(name);
        return read(...args);
      };
    }
    expect(drawn((await nest.system.tree({ root: ann })).roots[0] as TreeNode)).toBe("user(a)");
    expect(asked).toEqual([]);
  });
});

describe("changes of the tree", () => {
  it("are told together and a moment later, to those who listen and only while they do", async () => {
    const nest = await Nest.open();
    const told: (readonly AgentId[])[] = [];
    const stop = nest.system.onTreeChange(({ agents }) => told.push([...agents].sort()));
    await nest.tell("hi");
    await nest.tell("hi", { name: "bob" });
    expect(told).toEqual([]);
    await nest.advance(100);
    expect(told).toEqual([[await nest.agentId(), await nest.agentId("bob")].sort()]);
    await nest.advance(60_000);
    expect(told).toHaveLength(1);
    const timers = nest.clock.timers;
    await nest.tell("again");
    stop();
    await nest.advance(1_000);
    expect(told).toHaveLength(1);
    await nest.tell("nobody listens");
    expect(nest.clock.timers).toBe(timers);
  });

  it("are counted and not named where they are too many; a listener that throws harms nobody", async () => {
    const nest = await Nest.open();
    const told: unknown[] = [];
    nest.system.onTreeChange(() => {
      throw new TypeError("not now");
    });
    nest.system.onTreeChange((change) => told.push(change));
    await Promise.all(Array.from({ length: 501 }, (_, n) => nest.say("hi", { name: `p${n}` })));
    await nest.settle();
    await nest.advance(100);
    expect(told).toEqual([{ agents: [], all: true }]);
    expect(nest.logged("warn")).toContain("a listener of the tree failed");
  });
});

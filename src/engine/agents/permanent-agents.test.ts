import { describe, expect, it } from "vitest";
import { openMemoryStore } from "../../adapters/store/sqlite/open-store.ts";
import { systemIds } from "../../adapters/system/system-ids.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { seedAgent } from "../context/seed-agent.ts";
import { permanentAgentsOf } from "./permanent-agents.ts";

const ids = systemIds();

async function world() {
  const store = openMemoryStore();
  const clock = { time: 0, monotonic: () => clock.time };
  let reads = 0;
  const agents = permanentAgentsOf(
    {
      agentsOfKind: (kind, page) => {
        reads += 1;
        return store.agentsOfKind(kind, page);
      },
    },
    clock,
  );
  const make = async (descriptor: AgentDescriptor) => {
    const seed = seedAgent(ids, descriptor, 1);
    await store.commit({ id: ids.change(), site: "t", at: 1, ops: [{ op: "agent.create", seed }] });
    return seed.id;
  };
  const named = (name: string) =>
    make({ type: "permanent", id: `id ${name}`, name, description: `does ${name}`, systemPrompt: "p" });
  return { store, clock, agents, make, named, reads: () => reads };
}

describe("the permanent agents a prompt lists", () => {
  it("are sorted by name, not by age, and contain no other kind of agent", async () => {
    const { agents, named, make } = await world();
    const [zoe, ann] = [await named("zoe"), await named("ann")];
    await make({ type: "user", connector: "c", userId: "u", channelId: "u" });
    expect(await agents.list()).toEqual([
      { id: ann, name: "ann", description: "does ann" },
      { id: zoe, name: "zoe", description: "does zoe" },
    ]);
  });

  it("are all read, page by page", async () => {
    const { agents, named } = await world();
    for (let n = 0; n < 101; n++) await named(`n${n}`);
    expect(await agents.list()).toHaveLength(101);
  });

  it("do not include a stopped agent", async () => {
    const { agents, named, store } = await world();
    const mark = { at: 2, reason: "enough" };
    const agentId = await named("ann");
    await store.commit({ id: ids.change(), site: "t", at: 2, ops: [{ op: "agent.stop", agentId, mark }] });
    expect(await agents.list()).toEqual([]);
  });

  it("are read once for runs that begin together, and again after a short time or after this node creates one", async () => {
    const { agents, named, clock, reads } = await world();
    await Promise.all([agents.list(), agents.list()]);
    expect(reads()).toBe(1);
    await named("ann");
    expect(await agents.list()).toEqual([]);
    clock.time += 2_000;
    expect(await agents.list()).toHaveLength(1);
    await named("bob");
    agents.forget();
    expect(await agents.list()).toHaveLength(2);
    expect(reads()).toBe(3);
  });

  it("are read again after a failed read", async () => {
    let fails = true;
    const agents = permanentAgentsOf(
      { agentsOfKind: async () => (fails ? Promise.reject(new TypeError("away")) : []) },
      { monotonic: () => 0 },
    );
    await expect(agents.list()).rejects.toThrow("away");
    fails = false;
    expect(await agents.list()).toEqual([]);
  });
});

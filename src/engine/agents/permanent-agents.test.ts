import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import type { Op } from "../../core/store/change.ts";
import { seedAgent } from "../context/seed-agent.ts";
import { commit } from "./agent-system.test-kit.ts";
import { permanentAgentsOf } from "./permanent-agents.ts";

/** A store with permanent agents of these names, in this order of age. */
async function storeWith(...names: readonly string[]) {
  const engine = TestEngine.unloaded();
  const { ids } = engine.ports({ alive: true, name: "maker" });
  const seeds = new Map(
    names.map((name) => [
      name,
      seedAgent(ids, { type: "permanent", id: `id ${name}`, name, description: `does ${name}`, systemPrompt: "p" }, 1),
    ]),
  );
  await commit(engine, ...[...seeds.values()].map((seed): Op => ({ op: "agent.create", seed })));
  const id = (name: string) => {
    const seed = seeds.get(name);
    if (!seed) throw new TypeError(`no agent ${name}`);
    return seed.id;
  };
  const clock = virtualClock();
  return { engine, clock, id, agents: permanentAgentsOf(engine.store, clock) };
}
const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `n${String(count - n).padStart(3, "0")}`);

describe("the permanent agents in a prompt", () => {
  it("are sorted by name and contain no other kind of agent and no stopped one", async () => {
    const { engine, agents, id } = await storeWith("zoe", "stopped", "ann");
    await commit(engine, { op: "agent.stop", agentId: id("stopped"), mark: { at: 2, reason: "enough" } });
    await engine.system.post({ ...engine.person(), body: { kind: "user", text: "hi" } });
    expect(await agents.list()).toEqual([
      { id: id("ann"), name: "ann", description: "does ann" },
      { id: id("zoe"), name: "zoe", description: "does zoe" },
    ]);
  });

  it.each([100, 101])("are complete over several pages (%i agents)", async (count) => {
    const listed = (await (await storeWith(...numbered(count))).agents.list()).map(({ name }) => name);
    expect(listed).toEqual(numbered(count).toSorted());
  });

  it("are the oldest ones if there are too many", async () => {
    const names = numbered(600);
    const { agents } = await storeWith(...names);
    expect((await agents.list()).map(({ name }) => name)).toEqual(names.slice(0, 500).toSorted());
  });

  it("are at most two seconds old, and new after this node creates one", async () => {
    const { engine, agents, clock, id } = await storeWith("ann", "bob");
    const stop = (name: string) =>
      commit(engine, { op: "agent.stop", agentId: id(name), mark: { at: 2, reason: "enough" } });
    expect(await agents.list()).toHaveLength(2);
    await stop("ann");
    await clock.advance(1_999);
    expect(await agents.list()).toHaveLength(2);
    await clock.advance(1);
    expect(await agents.list()).toHaveLength(1);
    await stop("bob");
    agents.forget();
    expect(await agents.list()).toEqual([]);
  });

  it("are read again after a failed read", async () => {
    const { engine, agents } = await storeWith("ann");
    const read = engine.store.agentsOfKind;
    engine.store.agentsOfKind = () => Promise.reject(new TypeError("away"));
    await expect(agents.list()).rejects.toThrow("away");
    engine.store.agentsOfKind = read;
    expect(await agents.list()).toHaveLength(1);
  });
});

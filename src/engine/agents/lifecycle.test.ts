/** Stops, starts and removes agents, frees swarms, and makes permanent agents by name. */
import { beforeAll, describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText } from "../../../test/kit/model.ts";
import type { AgentId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Op } from "../../core/store/change.ts";
import { accepted, commit, outcomeOf } from "./agent-system.test-kit.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { WantedPermanent } from "./put-permanent.ts";

const UNKNOWN = "x".repeat(24) as AgentId;
const fact = (key: string): Op => ({ op: "fact.put", key, value: "1" });
let engine: TestEngine;
let lifecycle: Lifecycle;
let door = gate();
let names = 0;

beforeAll(async () => {
  engine = await TestEngine.open({
    script: async ({ request }) => {
      const text = lastText(request);
      if (text.includes("slow")) await door.promise;
      return `answer to ${text}`;
    },
  });
  lifecycle = engine.system.lifecycle;
});

/** A new person for each test, whose agent may be at work. */
async function conversation(...texts: string[]): Promise<{ name: string; id: AgentId }> {
  door = gate();
  const name = `p${++names}`;
  for (const text of texts) await engine.tell(text, { name });
  return { name, id: await engine.agentId(name) };
}
const open = async (): Promise<void> => {
  door.open();
  await engine.settle();
};
const stopOf = async (id: AgentId) => (await engine.store.agent(id))?.stopped;

describe("stop", () => {
  it("ends an agent's run and its waiting messages; startAgain takes it back", async () => {
    const { id, name } = await conversation("slow one", "two");
    await lifecycle.stop(id, undefined, [fact("stopped")]);
    await open();
    expect(await stopOf(id)).toMatchObject({ reason: "stopped by a person" });
    expect(await engine.store.fact("stopped")).toBe("1");
    expect((await engine.states(id)).filter((state) => state === "answered" || state === "waiting")).toEqual([]);
    await lifecycle.startAgain(id, [fact("again")]);
    expect([await stopOf(id), await engine.store.fact("again")]).toEqual([undefined, "1"]);
    await engine.tell("three", { name });
    expect((await engine.states(id)).at(-1)).toBe("answered");
  });

  it("rejects an unknown agent and changes nothing", async () => {
    const unknown = { code: "not_found" };
    await expect(lifecycle.stop(UNKNOWN, "x", [fact("nowhere")])).rejects.toMatchObject(unknown);
    await expect(lifecycle.startAgain(UNKNOWN)).rejects.toMatchObject(unknown);
    expect(await engine.store.fact("nowhere")).toBeUndefined();
  });
});

describe("remove", () => {
  it("removes an agent when it has come to rest, and frees its address", async () => {
    const { id, name } = await conversation("slow one");
    const removed = lifecycle.remove(id, "enough");
    await open();
    await engine.advance(1_000);
    await removed;
    expect(await stopOf(id)).toMatchObject({ removed: true, reason: "enough" });
    for (const again of [lifecycle.remove(id), lifecycle.removeIdle(id), lifecycle.remove(UNKNOWN)]) {
      await expect(again).rejects.toMatchObject({ code: "not_found" });
    }
    expect(accepted(await engine.tell("hello again", { name })).agentId).not.toBe(id);
  });

  it("gives up on an agent that is still at work after half a minute", async () => {
    const { id } = await conversation("slow one");
    const { commit: store } = engine.store;
    engine.store.commit = async (change) =>
      change.site === "agent.remove" ? { ok: false, refused: "conflict", detail: "at work" } : store(change);
    const removed = outcomeOf(lifecycle.remove(id));
    await engine.advance(29_999);
    expect(removed).toEqual({});
    await engine.advance(1);
    expect(removed.error).toMatchObject({ code: "timeout" });
    engine.store.commit = store;
    expect(await stopOf(id)).toMatchObject({ reason: "removed by a person" });
    await open();
  });

  it("passes on an error of the store", async () => {
    const { id } = await conversation("one");
    engine.onCommit = ({ site }) => (site === "agent.remove" ? "throw" : "go");
    await expect(lifecycle.remove(id)).rejects.toThrow("the store is confused");
    engine.onCommit = () => "go";
  });
});

describe("removeIdle", () => {
  it("removes an idle agent at once and refuses one with work", async () => {
    const { id, name } = await conversation("slow one", "two");
    await expect(lifecycle.removeIdle(id)).rejects.toMatchObject({ code: "denied" });
    await open();
    await lifecycle.removeIdle(id);
    expect(await stopOf(id)).toMatchObject({ removed: true, reason: "removed by a person" });
    expect(accepted(await engine.tell("hello again", { name })).agentId).not.toBe(id);
  });
});

describe("erase", () => {
  it("removes an agent with its messages and frees its address", async () => {
    const { id, name } = await conversation("one");
    await lifecycle.erase(id, "forgotten:1", [fact("erased")]);
    expect([await engine.store.fact("erased"), await engine.store.messages(id, { limit: 5 })]).toEqual(["1", []]);
    expect(accepted(await engine.tell("hello again", { name })).agentId).not.toBe(id);
  });

  it("does nothing for an unknown agent", async () => {
    await lifecycle.erase(UNKNOWN, "forgotten:2", [fact("not erased")]);
    expect(await engine.store.fact("not erased")).toBeUndefined();
  });
});

describe("removeSwarm", () => {
  it("frees the name and removes each agent of the swarm when it comes to rest", async () => {
    const { id: contact } = await conversation("hello");
    const swarm = {
      ...{ nametag: "bees", owner: contact, profile: "main", firstName: "Bea", systemPrompt: "p" },
      ...{ memory: false, createdAt: 1 },
    };
    await commit(engine, { op: "swarm.put", swarm }, { op: "swarm.contact", nametag: "bees", contact });
    const descriptor = { type: "swarm", id: "bees", contact } as const;
    const { agentId } = accepted(
      await engine.system.post({ to: { descriptor }, body: { kind: "user", text: "slow" } }),
    );
    await engine.settle();
    await lifecycle.removeSwarm("bees", "ann");
    expect(await stopOf(agentId)).toMatchObject({ removing: true, reason: "removed by ann" });
    await open();
    await engine.advance(1_000);
    expect(await stopOf(agentId)).toMatchObject({ removed: true });
    expect(await engine.store.swarm("bees")).toBeUndefined();
    await expect(lifecycle.removeSwarm("bees")).rejects.toThrow("There is no swarm bees.");
  });
});

describe("putPermanent", () => {
  const wanted = { name: "Clerk", description: "writes", systemPrompt: "You write." };
  const put = (more: Partial<WantedPermanent> = {}, also?: Parameters<Lifecycle["putPermanent"]>[2]) =>
    lifecycle.putPermanent({ ...wanted, ...more }, { person: "ann" as PersonId }, also);

  it("creates one agent per name for its person, and changes it in the order of its inbox", async () => {
    const made = await put({ username: "clerk" }, ({ agentId }) => [fact(`made ${agentId}`)]);
    const descriptor = { type: "permanent", id: made.agentId, ...wanted };
    expect(await engine.store.agent(made.agentId)).toMatchObject({
      ...{ person: "ann", profile: "main", sessionKey: made.sessionKey },
      descriptor: { ...descriptor, username: "clerk" },
    });
    const again = await put({ name: "CLERK", description: "writes more" }, ({ agentId, created }) => [
      fact(`put ${agentId} ${created}`),
    ]);
    await engine.settle();
    expect([made.created, again]).toEqual([true, { ...made, created: false }]);
    expect(await engine.store.fact(`made ${made.agentId}`)).toBe("1");
    expect(await engine.store.fact(`put ${made.agentId} false`)).toBe("1");
    expect((await engine.store.agent(made.agentId))?.descriptor).toMatchObject({ description: "writes more" });
  });

  it("creates another agent in another profile", async () => {
    const [one, other] = [await put({ name: "Two" }), await put({ name: "Two", profile: "work" })];
    expect(one.agentId).not.toBe(other.agentId);
    const record = await engine.store.agent(other.agentId);
    expect(record?.profile).toBe("work");
    expect(record?.descriptor).not.toHaveProperty("username");
  });

  it("refuses the second of two that are created at the same time", async () => {
    const [one, two] = await Promise.allSettled([put({ name: "Twin" }), put({ name: "Twin" })]);
    expect([one.status, two]).toMatchObject(["fulfilled", { status: "rejected", reason: { code: "conflict" } }]);
  });

  it("changes an agent that is stopped, and refuses one that is being removed or has another name", async () => {
    const { agentId } = await put({ name: "My Clerk" });
    await expect(put({ name: " My Clerk " })).rejects.toThrow("The permanent agent My Clerk has the same address");
    await lifecycle.stop(agentId);
    expect(await put({ name: "My Clerk" })).toMatchObject({ agentId, created: false });
    await commit(engine, { op: "agent.stop", agentId, mark: { at: 1, reason: "x", removing: true } });
    await expect(put({ name: "My Clerk" })).rejects.toThrow("The agent My Clerk is being removed");
  });
});

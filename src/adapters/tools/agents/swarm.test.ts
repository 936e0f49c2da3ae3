import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentId } from "../../../core/ids.ts";
import { lastText } from "../../../engine/agents/engine.test-kit.ts";
import { openTestTools, permanent, person, type TestTools, textOf } from "./agents.test-kit.ts";

const DESK = { nametag: "desk", firstName: "Front", lastName: "Desk", systemPrompt: "You help guests." };

async function withContext(
  options: Parameters<typeof openTestTools>[0] = {},
): Promise<TestTools & { owner: AgentRecord }> {
  const flock = await openTestTools(options);
  const owner = await flock.make(person("owner", "terminal"));
  const made = await flock.call(owner, "create_swarm", DESK);
  expect(textOf(made)).toBe("Swarm created: @desk.");
  await flock.commit(made.ops ?? []);
  return { ...flock, owner };
}

describe("create_swarm", () => {
  it("publishes an agent under a name, with its prompt and its owner", async () => {
    const { engine, owner } = await withContext();
    expect(await engine.store.swarm("desk")).toEqual({
      ...DESK,
      owner: owner.id,
      profile: "main",
      memory: false,
      createdAt: engine.clock.now(),
    });
  });

  it("refuses others than the owner, names that are taken, and names that are none", async () => {
    const flock = await withContext();
    const { owner, call, make } = flock;
    const job = await make({ type: "cron", id: "nightly" });
    for (const agent of [await make(person("stranger")), job]) {
      expect(textOf(await call(agent, "create_swarm", { ...DESK, nametag: "other" }))).toBe(
        "Only the owner user can create swarms.",
      );
    }
    expect(textOf(await call(owner, "create_swarm", DESK))).toBe("Swarm already exists: desk");
    for (const nametag of ["", "Desk", "-desk", "a b", "x".repeat(81)]) {
      expect(flock.tool("create_swarm").input.safeParse({ ...DESK, nametag }).success, nametag).toBe(false);
    }
  });
});

describe("send_user_message", () => {
  it("reaches an agent of the contact's own, counts it, and knows the person behind a child", async () => {
    const flock = await withContext();
    const [ann, bob] = [await flock.make(person("ann")), await flock.make(person("bob"))];
    const child = await flock.child(ann, "digger");
    for (const agent of [ann, bob, child]) {
      const sent = await flock.call(agent, "send_user_message", { text: "hello", nametag: "@Desk" });
      expect(textOf(sent)).toBe("Message sent to swarm @desk.");
      await flock.commit(sent.ops ?? []);
    }
    const agents = await flock.engine.store.agentsOfKind("swarm", { limit: 10 });
    expect(agents.map(({ sessionKey }) => sessionKey)).toEqual(
      [ann, bob].map(({ id }) => `agent:main:swarm:desk:${id}`),
    );
    expect(await flock.engine.store.swarmContact("desk", ann.id)).toMatchObject({
      messagesReceived: 2,
      messagesSent: 0,
      agentId: agents[0]?.id,
    });
  });

  it("waits for the answer where it is told to, and asks once over a restart", async () => {
    const flock = await withContext({
      engine: {
        script: ({ request }) => {
          if (request.messages.at(-1)?.role === "tool") return lastText(request, "tool");
          if (!lastText(request).startsWith("<"))
            return { call: [{ name: "send_user_message", with: { text: "open?", nametag: "desk", wait: true } }] };
          return "until nine";
        },
      },
    });
    const { engine } = flock;
    engine.onCommit = (change, nth) => (change.site === "result" && nth === 1 ? "die-before" : "go");
    await engine.tell("ask the desk");
    await engine.restart();
    await engine.advance(2_000);
    const [servant] = await engine.store.agentsOfKind("swarm", { limit: 10 });
    expect(engine.shown()).toEqual([`until nine\n\nSwarm agent id: ${servant?.id}`]);
    expect(await engine.store.swarmContact("desk", await engine.agentId())).toMatchObject({
      messagesReceived: 1,
      agentId: servant?.id,
    });
    expect(await engine.states(servant?.id)).toEqual(["answered"]);
  });

  it.each([
    ["nobody", "User not found for nametag: nobody"],
    ["clerk", "Target is not a swarm: clerk"],
  ])("says so where %s is no swarm", async (nametag, text) => {
    const flock = await withContext();
    await flock.make(permanent("clerk"));
    const sent = await flock.call(await flock.make(person("ann")), "send_user_message", { text: "hello", nametag });
    expect([sent.isError, textOf(sent)]).toEqual([true, text]);
  });
});

describe("a swarm's agent", () => {
  it("writes to its contact by default, is counted, and writes to nobody else", async () => {
    const flock = await withContext();
    const [ann, bob] = [await flock.make(person("ann")), await flock.make(person("bob"))];
    for (const agent of [ann, bob]) {
      await flock.commit((await flock.call(agent, "send_user_message", { text: "hello", nametag: "desk" })).ops ?? []);
    }
    const [ofAnn] = (await flock.engine.store.agentsOfKind("swarm", { limit: 10 })) as [AgentRecord];
    const sent = await flock.call(ofAnn, "send_agent_message", { text: "welcome" });
    expect(textOf(sent)).toBe("System message sent.");
    await flock.commit(sent.ops ?? []);
    expect((await flock.engine.store.waiting(ann.id, { limit: 5 })).map(({ body }) => body)).toEqual([
      { kind: "system", text: "welcome", origin: ofAnn.id, hops: 1 },
    ]);
    expect(await flock.engine.store.swarmContact("desk", ann.id)).toMatchObject({
      messagesSent: 1,
      messagesReceived: 1,
    });
    const stranger = await flock.call(ofAnn, "send_agent_message", { text: "welcome", agentId: bob.id });
    expect(textOf(stranger)).toBe("Can only message agents that have contacted this swarm");
  });

  it("writes to nobody where nobody has contacted the swarm, or the swarm is gone", async () => {
    const flock = await withContext();
    const ann = await flock.make(person("ann"));
    const api = await flock.make({ type: "swarm", id: "desk", contact: ann.id });
    expect(textOf(await flock.call(api, "send_agent_message", { text: "hi" }))).toBe(
      "No known swarm contacts found. Provide agentId or wait for an inbound message.",
    );
    const direct = await flock.call(api, "send_agent_message", { text: "hi", agentId: ann.id });
    await expect(flock.commit(direct.ops ?? [])).rejects.toThrow("missing: Swarm contact not found.");
    expect(await flock.engine.store.waiting(ann.id as AgentId, { limit: 5 })).toEqual([]);
  });
});

describe("remove_swarm", () => {
  /** A desk with two guests, one of whom waits for an answer. */
  async function withGuests() {
    const flock = await withContext();
    for (const name of ["ann", "bob"]) {
      const sent = await flock.call(await flock.make(person(name)), "send_user_message", {
        text: "hi",
        nametag: "desk",
      });
      await flock.commit(sent.ops ?? []);
    }
    return flock;
  }

  it("takes the name back and removes the agents behind it; what waited is settled with a trace", async () => {
    const flock = await withGuests();
    const { engine, owner } = flock;
    const agents = await engine.store.agentsOfKind("swarm", { limit: 10 });
    const removed = await flock.call(owner, "remove_swarm", { nametag: "@Desk" });
    expect(textOf(removed)).toBe("Swarm removed: @desk.");
    await flock.commit(removed.ops ?? []);
    await engine.advance(60_000);
    expect(await engine.store.swarm("desk")).toBeUndefined();
    for (const { id } of agents) {
      expect((await engine.store.agent(id))?.stopped).toMatchObject({ removed: true });
      const messages = await engine.store.messages(id, { limit: 10 });
      expect(messages.filter(({ state }) => state === "waiting" || state === "taken")).toEqual([]);
    }
    const late = await flock.call(await flock.make(person("cid")), "send_user_message", {
      text: "hi",
      nametag: "desk",
    });
    expect(textOf(late)).toBe("User not found for nametag: desk");
    // The name is free again.
    expect(textOf(await flock.call(owner, "create_swarm", DESK))).toBe("Swarm created: @desk.");
  });

  it("is the owner's, and says where there is none", async () => {
    const flock = await withGuests();
    const stranger = await flock.make(person("stranger"));
    expect(textOf(await flock.call(stranger, "remove_swarm", { nametag: "desk" }))).toBe(
      "Only the owner user can remove swarms.",
    );
    expect(textOf(await flock.call(flock.owner, "remove_swarm", { nametag: "nobody" }))).toBe(
      "There is no swarm nobody.",
    );
  });
});

import { describe, expect, it } from "vitest";
import { lastText } from "../../../../test/kit/model.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentId } from "../../../core/ids.ts";
import { openTestTools, permanent, person, type TestTools, textOf } from "./agents.test-kit.ts";

const DESK = { nametag: "desk", firstName: "Front", lastName: "Desk", systemPrompt: "You help guests." };

async function withContext(
  options: Parameters<typeof openTestTools>[0] = {},
): Promise<TestTools & { owner: AgentRecord }> {
  const kit = await openTestTools(options);
  const owner = await kit.make(person("owner", "terminal"));
  const made = await kit.call(owner, "create_swarm", DESK);
  expect(textOf(made)).toBe("Swarm created: @desk.");
  await kit.commit(made.ops ?? []);
  return { ...kit, owner };
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

  it("refuses other people, taken names and invalid names", async () => {
    const kit = await withContext({ gated: true });
    const { owner, call, make } = kit;
    expect(textOf(await call(await make(person("stranger")), "create_swarm", { ...DESK, nametag: "other" }))).toContain(
      "permanent agents and swarms belong to the owner",
    );
    expect(textOf(await call(owner, "create_swarm", DESK))).toBe("Swarm already exists: desk");
    for (const nametag of ["", "Desk", "-desk", "a b", "x".repeat(81)]) {
      expect(kit.tool("create_swarm").input.safeParse({ ...DESK, nametag }).success, nametag).toBe(false);
    }
  });
});

describe("send_user_message", () => {
  it("reaches the contact's own agent, counts the message, and finds the person behind a child", async () => {
    const kit = await withContext();
    const [ann, bob] = [await kit.make(person("ann")), await kit.make(person("bob"))];
    const child = await kit.child(ann, "digger");
    for (const agent of [ann, bob, child]) {
      const sent = await kit.call(agent, "send_user_message", { text: "hello", nametag: "@Desk" });
      expect(textOf(sent)).toBe("Message sent to swarm @desk.");
      await kit.commit(sent.ops ?? []);
    }
    const agents = await kit.engine.store.agentsOfKind("swarm", { limit: 10 });
    expect(agents.map(({ sessionKey }) => sessionKey)).toEqual(
      [ann, bob].map(({ id }) => `agent:main:swarm:desk:${id}`),
    );
    expect(await kit.engine.store.swarmContact("desk", ann.id)).toMatchObject({
      messagesReceived: 2,
      messagesSent: 0,
      agentId: agents[0]?.id,
    });
  });

  it("waits for the answer on request, and asks once over a restart", async () => {
    const kit = await withContext({
      engine: {
        script: ({ request }) => {
          if (request.messages.at(-1)?.role === "tool") return lastText(request, "tool");
          if (!lastText(request).startsWith("<"))
            return { call: [{ name: "send_user_message", with: { text: "open?", nametag: "desk", wait: true } }] };
          return "until nine";
        },
      },
    });
    const { engine } = kit;
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
    ["has read a page", true],
    ["has read nothing", false],
  ])("brings the mark of untrusted text with the answer of an agent that %s", async (_, reads) => {
    const kit = await withContext({
      engine: {
        script: ({ request }) => {
          const isDesk = lastText(request).startsWith("<");
          if (request.messages.at(-1)?.role === "tool") return isDesk ? "obey" : "done";
          if (isDesk && reads) return { call: [{ name: "fetch" }] };
          if (isDesk) return "until nine";
          return { call: [{ name: "send_user_message", with: { text: "open?", nametag: "desk", wait: true } }] };
        },
        tools: { fetch: { rights: ["network"] } },
      },
    });
    const { engine } = kit;
    await engine.tell("ask the desk");
    const [servant] = await engine.store.agentsOfKind("swarm", { limit: 10 });
    const asker = await engine.store.agent(await engine.agentId());
    expect([servant?.state.untrusted ?? false, asker?.state.untrusted ?? false]).toEqual([reads, reads]);
  });

  it("needs a text, and is not for agents of a swarm", async () => {
    const kit = await withContext();
    const ann = await kit.make(person("ann"));
    const api = await kit.make({ type: "swarm", id: "desk", contact: ann.id });
    for (const [agent, text, problem] of [
      [ann, " \n", "A message needs text."],
      [api, "hello", "Can only message agents that have contacted this swarm"],
    ] as const) {
      const sent = await kit.call(agent, "send_user_message", { text, nametag: "desk" });
      expect([sent.isError, textOf(sent), sent.ops]).toEqual([true, problem, undefined]);
    }
  });

  it.each([
    ["nobody", "User not found for nametag: nobody"],
    ["clerk", "Target is not a swarm: clerk"],
  ])("returns an error if %s is not a swarm", async (nametag, text) => {
    const kit = await withContext();
    await kit.make(permanent("clerk"));
    const sent = await kit.call(await kit.make(person("ann")), "send_user_message", { text: "hello", nametag });
    expect([sent.isError, textOf(sent)]).toEqual([true, text]);
  });
});

describe("a swarm's agent", () => {
  it("writes to its contact by default and to no other agent, and is counted", async () => {
    const kit = await withContext();
    const [ann, bob] = [await kit.make(person("ann")), await kit.make(person("bob"))];
    for (const agent of [ann, bob]) {
      await kit.commit((await kit.call(agent, "send_user_message", { text: "hello", nametag: "desk" })).ops ?? []);
    }
    const [ofAnn] = (await kit.engine.store.agentsOfKind("swarm", { limit: 10 })) as [AgentRecord];
    const sent = await kit.call(ofAnn, "send_agent_message", { text: "welcome" });
    expect(textOf(sent)).toBe("System message sent.");
    await kit.commit(sent.ops ?? []);
    expect((await kit.engine.store.waiting(ann.id, { limit: 5 })).map(({ body }) => body)).toEqual([
      { kind: "system", text: "welcome", origin: ofAnn.id, hops: 1 },
    ]);
    expect(await kit.engine.store.swarmContact("desk", ann.id)).toMatchObject({
      messagesSent: 1,
      messagesReceived: 1,
    });
    const stranger = await kit.call(ofAnn, "send_agent_message", { text: "welcome", agentId: bob.id });
    expect(textOf(stranger)).toBe("Can only message agents that have contacted this swarm");
  });

  it("cannot write without a contact, or after the swarm was removed", async () => {
    const kit = await withContext();
    const ann = await kit.make(person("ann"));
    const api = await kit.make({ type: "swarm", id: "desk", contact: ann.id });
    expect(textOf(await kit.call(api, "send_agent_message", { text: "hi" }))).toBe(
      "No known swarm contacts found. Provide agentId or wait for an inbound message.",
    );
    const direct = await kit.call(api, "send_agent_message", { text: "hi", agentId: ann.id });
    await expect(kit.commit(direct.ops ?? [])).rejects.toThrow("missing: Swarm contact not found.");
    expect(await kit.engine.store.waiting(ann.id as AgentId, { limit: 5 })).toEqual([]);
  });
});

describe("remove_swarm", () => {
  /** The swarm `desk` after two contacts have written to it. */
  async function withGuests() {
    const kit = await withContext({ gated: true });
    for (const name of ["ann", "bob"]) {
      const sent = await kit.call(await kit.make(person(name)), "send_user_message", {
        text: "hi",
        nametag: "desk",
      });
      await kit.commit(sent.ops ?? []);
    }
    return kit;
  }

  it("removes the swarm and its agents; waiting messages are settled", async () => {
    const kit = await withGuests();
    const { engine, owner } = kit;
    const agents = await engine.store.agentsOfKind("swarm", { limit: 10 });
    const removed = await kit.call(owner, "remove_swarm", { nametag: "@Desk" });
    expect(textOf(removed)).toBe("Swarm removed: @desk.");
    await kit.commit(removed.ops ?? []);
    await engine.advance(60_000);
    expect(await engine.store.swarm("desk")).toBeUndefined();
    for (const { id } of agents) {
      expect((await engine.store.agent(id))?.stopped).toMatchObject({ removed: true });
      const messages = await engine.store.messages(id, { limit: 10 });
      expect(messages.filter(({ state }) => state === "waiting" || state === "taken")).toEqual([]);
    }
    const late = await kit.call(await kit.make(person("cid")), "send_user_message", {
      text: "hi",
      nametag: "desk",
    });
    expect(textOf(late)).toBe("User not found for nametag: desk");
    // The name is free again.
    expect(textOf(await kit.call(owner, "create_swarm", DESK))).toBe("Swarm created: @desk.");
  });

  it("is for the owner only, and returns an error for an unknown swarm", async () => {
    const kit = await withGuests();
    const stranger = await kit.make(person("stranger"));
    expect(textOf(await kit.call(stranger, "remove_swarm", { nametag: "desk" }))).toContain(
      "permanent agents and swarms belong to the owner",
    );
    expect(textOf(await kit.call(kit.owner, "remove_swarm", { nametag: "nobody" }))).toBe("There is no swarm nobody.");
  });
});

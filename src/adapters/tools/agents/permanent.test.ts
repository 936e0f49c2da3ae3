import { describe, expect, it } from "vitest";
import { channel } from "../../../../test/kit/channel.ts";
import { gate } from "../../../../test/kit/gate.ts";
import { lastText, stall } from "../../../../test/kit/model.ts";
import { dieAt } from "../../../../test/kit/store.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { labelOf } from "../../../core/agent/label-of.ts";
import { openTestTools, permanent, person, textOf } from "./agents.test-kit.ts";

const about = { name: "Night Clerk", description: "sits at the door", systemPrompt: "You open the door." };
const owner = person("owner", "terminal");

describe("create_permanent_agent", () => {
  it("creates an agent once, which does not run before its first message", async () => {
    const kit = await openTestTools();
    const me = await kit.make(owner);
    const made = await kit.call(me, "create_permanent_agent", { ...about, name: " Night Clerk " });
    await kit.commit(made.ops ?? []);
    const clerk = (await kit.engine.store.agentsOfKind("permanent", { limit: 10 }))[0] as AgentRecord;
    expect(textOf(made)).toBe(`Permanent agent created: ${clerk.id} (name: Night Clerk).`);
    expect(clerk.descriptor).toEqual({ type: "permanent", id: clerk.id, ...about });
    expect([clerk.sessionKey, clerk.nextSeq]).toEqual(["agent:main:permanent:night%20clerk", 1]);
  });

  it("stores the username, and changes it", async () => {
    const kit = await openTestTools();
    const me = await kit.make(owner);
    const made = await kit.call(me, "create_permanent_agent", { ...about, username: "@night" });
    await kit.commit(made.ops ?? []);
    const clerk = (await kit.engine.store.agentsOfKind("permanent", { limit: 10 }))[0] as AgentRecord;
    expect(labelOf(clerk.descriptor)).toBe("Night Clerk (@night)");
    const changed = await kit.call(me, "create_permanent_agent", { ...about, username: "dawn" });
    await kit.commit(
      (changed.ops ?? []).map((op) => (op.op === "message.post" ? { ...op, claimFor: kit.engine.system.node } : op)),
    );
    await kit.engine.restart();
    expect(labelOf((await kit.engine.store.agent(clerk.id))?.descriptor as never)).toBe("Night Clerk (@dawn)");
  });

  it("changes the agent with that name or id; name and id stay", async () => {
    const kit = await openTestTools();
    const me = await kit.make(owner);
    const clerk = await kit.make(permanent("Night Clerk"));
    for (const [more, prompt] of [
      [{ name: "night clerk" }, "You lock the door."],
      [{ agentId: clerk.id }, "You guard the door."],
    ] as const) {
      const changed = await kit.call(me, "create_permanent_agent", { ...about, ...more, systemPrompt: prompt });
      expect(textOf(changed)).toBe(`Permanent agent updated: ${clerk.id} (name: Night Clerk).`);
      await kit.commit(
        (changed.ops ?? []).map((op) => (op.op === "message.post" ? { ...op, claimFor: kit.engine.system.node } : op)),
      );
      await kit.engine.restart();
      expect((await kit.engine.store.agent(clerk.id))?.descriptor).toMatchObject({
        id: "Night Clerk",
        name: "Night Clerk",
        description: "sits at the door",
        systemPrompt: prompt,
      });
      expect((await kit.engine.states(clerk.id)).at(-1)).toBe("recorded");
    }
  });

  it.each<[object, string]>([
    [{ name: " " }, "Permanent agent name is required."],
    [{ description: "" }, "Permanent agent description is required."],
    [{ systemPrompt: "\n" }, "Permanent agent system prompt is required."],
    [{ agentId: "17" }, "agentId must be a cuid2 value."],
    [{ agentId: "aaaaaaaaaaaaaaaaaaaaaaaa" }, "Permanent agent not found for the supplied agentId."],
    [{ permissions: ["@network"] }, "Cannot attach permission '@network' - you don't have it."],
    [{ name: "other", agentId: "clerk" }, "A permanent agent keeps its name: this one is clerk."],
  ])("refuses %j", async (wrong, text) => {
    const kit = await openTestTools();
    const me = await kit.make(owner);
    const clerk = await kit.make(permanent("clerk"));
    const given = {
      ...about,
      ...wrong,
      ...("agentId" in wrong && wrong.agentId === "clerk" ? { agentId: clerk.id } : {}),
    };
    const refused = await kit.call(me, "create_permanent_agent", given);
    expect([refused.isError, textOf(refused), refused.ops]).toEqual([true, text, undefined]);
  });

  it("is allowed to the owner's agents, not to other people's agents and their children", async () => {
    const kit = await openTestTools({ gated: true });
    const stranger = await kit.make(person("stranger"));
    const table: readonly [AgentRecord, boolean][] = [
      [await kit.make(owner), true],
      [await kit.make({ type: "cron", id: "nightly" }), true],
      [stranger, false],
      [await kit.child(stranger, "digger"), false],
      [await kit.make({ type: "swarm", id: "desk", contact: stranger.id }), false],
    ];
    for (const [agent, may] of table) {
      const made = await kit.call(agent, "create_permanent_agent", about);
      expect(textOf(made).startsWith("Permanent agent created"), agent.descriptor.type).toBe(may);
      if (!may) expect(textOf(made)).toMatch(/^Denied: create_permanent_agent: /);
    }
  });

  it("of two calls that create the same name at once, one succeeds and the other gets an error", async () => {
    const kit = await openTestTools({
      engine: {
        script: ({ request }) =>
          request.messages.at(-1)?.role === "tool"
            ? lastText(request, "tool")
            : { call: [{ name: "create_permanent_agent", with: about }] },
      },
    });
    const { engine } = kit;
    // Both calls read before either has committed.
    const [first, second] = await Promise.all(
      ["a", "b"].map(async (threadId) => kit.make({ ...owner, type: "user", threadId } as never)),
    );
    const outputs = await Promise.all(
      [first, second].map((agent) => kit.call(agent as AgentRecord, "create_permanent_agent", about)),
    );
    await kit.commit(outputs[0]?.ops ?? []);
    await expect(kit.commit(outputs[1]?.ops ?? [])).rejects.toThrow("conflict");
    expect(await engine.store.agentsOfKind("permanent", { limit: 10 })).toHaveLength(1);
  });

  it("answers earlier messages with the old prompt and later ones with the new", async () => {
    const door = gate();
    const seen: string[] = [];
    const kit = await openTestTools({
      engine: {
        script: async ({ request }) => {
          seen.push(`${request.system}: ${lastText(request).replace(/<\/?system_message[^>]*>/g, "")}`);
          if (seen.length === 1) await door.promise;
          return "ok";
        },
        system: {
          resolveModel: ({ descriptor }) => ({
            model: "scripted",
            system: descriptor.type === "permanent" ? descriptor.systemPrompt : "You are under test.",
          }),
        },
      },
    });
    const { engine } = kit;
    const clerk = await kit.make(permanent("clerk", { systemPrompt: "old" }));
    const to = { agentId: clerk.id };
    const say = (text: string) => engine.system.post({ to, body: { kind: "system", text } });
    await say("one");
    await engine.settle();
    await say("two");
    await engine.system.post({
      to,
      body: { kind: "describe", by: "test", description: "new", systemPrompt: "new" },
    });
    await say("three");
    door.open();
    await engine.settle();
    expect(seen).toEqual(["old: one", "old: two", "new: three"]);
    expect(await engine.states(clerk.id)).toEqual(["answered", "answered", "recorded", "answered"]);
  });

  it("never changes an agent of another kind", async () => {
    const kit = await openTestTools();
    await kit.engine.tell("hi");
    const ann = await kit.engine.agentId();
    await kit.engine.system.post({
      to: { agentId: ann },
      body: { kind: "describe", by: "test", description: "x", systemPrompt: "x" },
    });
    await kit.engine.settle();
    const [last] = await kit.engine.store.messages(ann, { limit: 1 });
    expect(last).toMatchObject({ state: "dropped", reason: "a user agent has no description to change" });
    expect((await kit.engine.store.agent(ann))?.descriptor.type).toBe("user");
  });
});

describe("remove_permanent_agent", () => {
  it("removes the agent: waiting messages are settled, waiting callers get an error, the name is free, the history stays", async () => {
    const door = gate();
    const kit = await openTestTools({
      config: `{ agentToAgent: { write: ["any"] } }`,
      engine: {
        script: async (call) => {
          const words = lastText(call.request);
          if (call.request.messages.at(-1)?.role === "tool") return lastText(call.request, "tool");
          if (words === "ask")
            return { call: [{ name: "sessions_send", with: { sessionKey: "clerk", message: "open?" } }] };
          if (words === "remove") return { call: [{ name: "remove_permanent_agent", with: { agentId: "clerk" } }] };
          return stall(call, door.promise as never);
        },
        channels: [channel("terminal"), channel("test")],
      },
    });
    const { engine } = kit;
    const clerk = await kit.make(permanent("clerk"));
    const to = { agentId: clerk.id };
    await engine.system.post({ to, body: { kind: "system", text: "work" } });
    await engine.system.post({ to, body: { kind: "system", text: "waits" } });
    await engine.system.post({ to, body: { kind: "system", text: "silent", silent: true } });
    await engine.system.post({ to, body: { kind: "describe", by: "test", description: "x", systemPrompt: "x" } });
    await engine.tell("ask");
    await engine.tell("remove", { on: "terminal", name: "owner" });
    await engine.advance(2_000);
    expect(engine.shown("terminal")).toEqual([`Permanent agent removed: ${clerk.id} (name: clerk).`]);
    const me = await engine.agentId("owner", "terminal");
    expect(JSON.parse(engine.shown("test")[0] as string)).toEqual({
      status: "error",
      error: `The message was not answered: removed (the agent was removed by ${me}).`,
      sessionKey: clerk.sessionKey,
    });
    expect(await engine.states(clerk.id)).toEqual(["aborted", "removed", "removed", "removed", "removed", "recorded"]);
    expect(await engine.store.agent(clerk.id)).toMatchObject({
      stopped: { removed: true, reason: `removed by ${me}` },
    });
    expect((await engine.transcript(clerk.id)).length).toBeGreaterThan(0);
    const owner = (await engine.store.agent(me)) as AgentRecord;
    expect(textOf(await kit.call(owner, "send_agent_message", { text: "hi", agentId: "clerk" }))).toBe(
      "Agent not found: clerk",
    );
    expect(textOf(await kit.call(owner, "send_agent_message", { text: "hi", agentId: clerk.id }))).toBe(
      `Agent not found: ${clerk.id}`,
    );
    const again = await kit.call(owner, "create_permanent_agent", { ...about, name: "clerk" });
    expect(textOf(again)).toMatch(/^Permanent agent created: (?!flock0+1 )/);
    await kit.commit(again.ops ?? []);
    expect(await engine.store.agentsOfKind("permanent", { limit: 5 })).toMatchObject([
      { descriptor: { description: "sits at the door" } },
    ]);
  });

  it.each(["wind-up", "remove"] as const)("is completed after a kill at %s", async (site) => {
    for (const moment of ["before", "after"] as const) {
      const kit = await openTestTools();
      const { engine } = kit;
      const me = await kit.make(owner);
      const clerk = await kit.make(permanent("clerk"));
      await engine.system.drain();
      const message = { body: { kind: "system", text: "waits" } as const, acceptedAt: engine.clock.now() };
      await kit.commit([{ op: "message.post", to: { agentId: clerk.id }, message }]);
      await kit.commit((await kit.call(me, "remove_permanent_agent", { agentId: "clerk" })).ops ?? []);
      await engine.retire();
      engine.onCommit = dieAt(site, moment);
      await engine.boot();
      await engine.settle();
      expect(engine.alive).toBe(false);
      await engine.restart();
      await engine.advance(1_000);
      expect(await engine.states(clerk.id)).toEqual(["removed", "recorded"]);
      expect((await engine.store.agent(clerk.id))?.stopped).toMatchObject({ removed: true });
    }
  });

  it("is for the owner's agents and for permanent agents only", async () => {
    const kit = await openTestTools({ gated: true, config: `{ agentToAgent: { write: ["any"] } }` });
    const [me, stranger] = [await kit.make(owner), await kit.make(person("stranger"))];
    await kit.make(permanent("clerk"));
    expect(textOf(await kit.call(stranger, "remove_permanent_agent", { agentId: "clerk" }))).toContain(
      "permanent agents and swarms belong to the owner",
    );
    for (const agentId of [stranger.id, "doctor"]) {
      expect(textOf(await kit.call(me, "remove_permanent_agent", { agentId }))).toBe(
        `Permanent agent not found: ${agentId}`,
      );
    }
  });
});

describe("system agents", () => {
  it("are found by their tag and created by the first message", async () => {
    const kit = await openTestTools();
    const me = await kit.make(owner);
    for (const name of ["doctor", "system:librarian"]) {
      const sent = await kit.call(me, "send_agent_message", { text: "hello", agentId: name });
      expect(textOf(sent)).toBe("System message sent.");
      await kit.commit(sent.ops ?? []);
    }
    const tags = (await kit.engine.store.agentsOfKind("system", { limit: 10 })).map(({ sessionKey }) => sessionKey);
    expect(tags).toEqual(["agent:main:system:doctor", "agent:main:system:librarian"]);
    const wrong = await kit.call(me, "send_agent_message", { text: "hello", agentId: "system:witch" });
    expect(textOf(wrong)).toBe("Unknown system agent tag: witch");
  });

  it("accept messages only from the owner's agents", async () => {
    const kit = await openTestTools({ gated: true });
    const stranger = await kit.make(person("stranger"));
    const sent = await kit.call(stranger, "send_agent_message", { text: "hello", agentId: "doctor" });
    expect(textOf(sent)).toContain("agent:doctor belongs to another person");
  });

  it("must be known, also for posts from outside", async () => {
    const kit = await openTestTools();
    const post = (tag: string) =>
      kit.engine.system.post({ to: { descriptor: { type: "system", tag } }, body: { kind: "system", text: "hi" } });
    await expect(post("witch")).rejects.toThrow("Unknown system agent tag: witch");
    expect(await post("doctor")).toMatchObject({ created: true });
  });
});

import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { labelOf } from "../../../core/agent/descriptor.ts";
import { channel, dieAt, gate, lastText, stall } from "../../../engine/agents/engine.test-kit.ts";
import { openTestTools, permanent, person, textOf } from "./agents.test-kit.ts";

const about = { name: "Night Clerk", description: "sits at the door", systemPrompt: "You open the door." };
const owner = person("owner", "terminal");

describe("create_permanent_agent", () => {
  it("makes an agent of that name once, that is not started before somebody writes to it", async () => {
    const flock = await openTestTools();
    const me = await flock.make(owner);
    const made = await flock.call(me, "create_permanent_agent", { ...about, name: " Night Clerk " });
    await flock.commit(made.ops ?? []);
    const clerk = (await flock.engine.store.agentsOfKind("permanent", { limit: 10 }))[0] as AgentRecord;
    expect(textOf(made)).toBe(`Permanent agent created: ${clerk.id} (name: Night Clerk).`);
    expect(clerk.descriptor).toEqual({ type: "permanent", id: clerk.id, ...about });
    expect([clerk.sessionKey, clerk.nextSeq]).toEqual(["agent:main:permanent:night%20clerk", 1]);
  });

  it("bears what it is called on screens, and takes another", async () => {
    const flock = await openTestTools();
    const me = await flock.make(owner);
    const made = await flock.call(me, "create_permanent_agent", { ...about, username: "@night" });
    await flock.commit(made.ops ?? []);
    const clerk = (await flock.engine.store.agentsOfKind("permanent", { limit: 10 }))[0] as AgentRecord;
    expect(labelOf(clerk.descriptor)).toBe("Night Clerk (@night)");
    const changed = await flock.call(me, "create_permanent_agent", { ...about, username: "dawn" });
    await flock.commit(
      (changed.ops ?? []).map((op) => (op.op === "message.post" ? { ...op, claimFor: flock.engine.system.node } : op)),
    );
    await flock.engine.restart();
    expect(labelOf((await flock.engine.store.agent(clerk.id))?.descriptor as never)).toBe("Night Clerk (@dawn)");
  });

  it("changes the one that has the name, in any case, or the id; it keeps its name and its id", async () => {
    const flock = await openTestTools();
    const me = await flock.make(owner);
    const clerk = await flock.make(permanent("Night Clerk"));
    for (const [more, prompt] of [
      [{ name: "night clerk" }, "You lock the door."],
      [{ agentId: clerk.id }, "You guard the door."],
    ] as const) {
      const changed = await flock.call(me, "create_permanent_agent", { ...about, ...more, systemPrompt: prompt });
      expect(textOf(changed)).toBe(`Permanent agent updated: ${clerk.id} (name: Night Clerk).`);
      await flock.commit(
        (changed.ops ?? []).map((op) =>
          op.op === "message.post" ? { ...op, claimFor: flock.engine.system.node } : op,
        ),
      );
      await flock.engine.restart();
      expect((await flock.engine.store.agent(clerk.id))?.descriptor).toMatchObject({
        id: "Night Clerk",
        name: "Night Clerk",
        description: "sits at the door",
        systemPrompt: prompt,
      });
      expect((await flock.engine.states(clerk.id)).at(-1)).toBe("recorded");
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
    const flock = await openTestTools();
    const me = await flock.make(owner);
    const clerk = await flock.make(permanent("clerk"));
    const given = {
      ...about,
      ...wrong,
      ...("agentId" in wrong && wrong.agentId === "clerk" ? { agentId: clerk.id } : {}),
    };
    const refused = await flock.call(me, "create_permanent_agent", given);
    expect([refused.isError, textOf(refused), refused.ops]).toEqual([true, text, undefined]);
  });

  it("is for those who work for the owner, not for strangers and what they start", async () => {
    const flock = await openTestTools();
    const stranger = await flock.make(person("stranger"));
    const table: readonly [AgentRecord, boolean][] = [
      [await flock.make(owner), true],
      [await flock.make({ type: "cron", id: "nightly" }), true],
      [stranger, false],
      [await flock.child(stranger, "digger"), false],
      [await flock.make({ type: "swarm", id: "desk", contact: stranger.id }), false],
    ];
    for (const [agent, may] of table) {
      const made = await flock.call(agent, "create_permanent_agent", about);
      expect(textOf(made).startsWith("Permanent agent created"), agent.descriptor.type).toBe(may);
      if (!may) expect(textOf(made)).toBe("Only the owner's agents can create, change and remove permanent agents.");
    }
  });

  it("lets one of two who make the same name at once do so, and tells the other", async () => {
    const flock = await openTestTools({
      engine: {
        script: ({ request }) =>
          request.messages.at(-1)?.role === "tool"
            ? lastText(request, "tool")
            : { call: [{ name: "create_permanent_agent", with: about }] },
      },
    });
    const { engine } = flock;
    // Both look before either has committed.
    const [first, second] = await Promise.all(
      ["a", "b"].map(async (threadId) => flock.make({ ...owner, type: "user", threadId } as never)),
    );
    const outputs = await Promise.all(
      [first, second].map((agent) => flock.call(agent as AgentRecord, "create_permanent_agent", about)),
    );
    await flock.commit(outputs[0]?.ops ?? []);
    await expect(flock.commit(outputs[1]?.ops ?? [])).rejects.toThrow("conflict");
    expect(await engine.store.agentsOfKind("permanent", { limit: 10 })).toHaveLength(1);
  });

  it("answers what was said before a change as it was, and what is said after it as it is now", async () => {
    const door = gate();
    const seen: string[] = [];
    const flock = await openTestTools({
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
    const { engine } = flock;
    const clerk = await flock.make(permanent("clerk", { systemPrompt: "old" }));
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
    const flock = await openTestTools();
    await flock.engine.tell("hi");
    const ann = await flock.engine.agentId();
    await flock.engine.system.post({
      to: { agentId: ann },
      body: { kind: "describe", by: "test", description: "x", systemPrompt: "x" },
    });
    await flock.engine.settle();
    const [last] = await flock.engine.store.messages(ann, { limit: 1 });
    expect(last).toMatchObject({ state: "dropped", reason: "a user agent cannot be described anew" });
    expect((await flock.engine.store.agent(ann))?.descriptor.type).toBe("user");
  });
});

describe("remove_permanent_agent", () => {
  it("removes it for good: what waits leaves a trace, who waits is told, the name is free, the history stays", async () => {
    const door = gate();
    const flock = await openTestTools({
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
    const { engine } = flock;
    const clerk = await flock.make(permanent("clerk"));
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
      error: `The message was not answered: removed (agent ${clerk.id} was removed by ${me}).`,
      sessionKey: clerk.sessionKey,
    });
    expect(await engine.states(clerk.id)).toEqual(["aborted", "removed", "removed", "removed", "removed", "recorded"]);
    expect(await engine.store.agent(clerk.id)).toMatchObject({
      stopped: { removed: true, reason: `removed by ${me}` },
    });
    expect((await engine.transcript(clerk.id)).length).toBeGreaterThan(0);
    const owner = (await engine.store.agent(me)) as AgentRecord;
    expect(textOf(await flock.call(owner, "send_agent_message", { text: "hi", agentId: "clerk" }))).toBe(
      "Agent not found: clerk",
    );
    expect(textOf(await flock.call(owner, "send_agent_message", { text: "hi", agentId: clerk.id }))).toBe(
      `Agent not found: ${clerk.id}`,
    );
    const again = await flock.call(owner, "create_permanent_agent", { ...about, name: "clerk" });
    expect(textOf(again)).toMatch(/^Permanent agent created: (?!flock0+1 )/);
    await flock.commit(again.ops ?? []);
    expect(await engine.store.agentsOfKind("permanent", { limit: 5 })).toMatchObject([
      { descriptor: { description: "sits at the door" } },
    ]);
  });

  it.each(["wind-up", "remove"])("is finished after a kill around %s", async (site) => {
    for (const moment of ["before", "after"] as const) {
      const flock = await openTestTools();
      const { engine } = flock;
      const me = await flock.make(owner);
      const clerk = await flock.make(permanent("clerk"));
      await engine.system.drain();
      const message = { body: { kind: "system", text: "waits" } as const, acceptedAt: engine.clock.now() };
      await flock.commit([{ op: "message.post", to: { agentId: clerk.id }, message }]);
      await flock.commit((await flock.call(me, "remove_permanent_agent", { agentId: "clerk" })).ops ?? []);
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
    const flock = await openTestTools({ config: `{ agentToAgent: { write: ["any"] } }` });
    const [me, stranger] = [await flock.make(owner), await flock.make(person("stranger"))];
    await flock.make(permanent("clerk"));
    expect(textOf(await flock.call(stranger, "remove_permanent_agent", { agentId: "clerk" }))).toBe(
      "Only the owner's agents can create, change and remove permanent agents.",
    );
    for (const agentId of [stranger.id, "doctor"]) {
      expect(textOf(await flock.call(me, "remove_permanent_agent", { agentId }))).toBe(
        `Permanent agent not found: ${agentId}`,
      );
    }
  });
});

describe("system agents", () => {
  it("are found by their tag and made by the first message", async () => {
    const flock = await openTestTools();
    const me = await flock.make(owner);
    for (const name of ["doctor", "system:librarian"]) {
      const sent = await flock.call(me, "send_agent_message", { text: "hello", agentId: name });
      expect(textOf(sent)).toBe("System message sent.");
      await flock.commit(sent.ops ?? []);
    }
    const tags = (await flock.engine.store.agentsOfKind("system", { limit: 10 })).map(({ sessionKey }) => sessionKey);
    expect(tags).toEqual(["agent:main:system:doctor", "agent:main:system:librarian"]);
    const wrong = await flock.call(me, "send_agent_message", { text: "hello", agentId: "system:witch" });
    expect(textOf(wrong)).toBe("Unknown system agent tag: witch");
  });

  it("listen to those who work for the owner only", async () => {
    const flock = await openTestTools();
    const stranger = await flock.make(person("stranger"));
    const sent = await flock.call(stranger, "send_agent_message", { text: "hello", agentId: "doctor" });
    expect(textOf(sent)).toBe("Agent-to-agent messaging denied by agentToAgent.write.");
  });

  it("are only those there are, also for whoever posts from outside", async () => {
    const flock = await openTestTools({ engine: { system: { systemTags: ["doctor"] } } });
    const post = (tag: string) =>
      flock.engine.system.post({ to: { descriptor: { type: "system", tag } }, body: { kind: "system", text: "hi" } });
    await expect(post("witch")).rejects.toThrow("Unknown system agent tag: witch");
    expect(await post("doctor")).toMatchObject({ created: true });
  });
});

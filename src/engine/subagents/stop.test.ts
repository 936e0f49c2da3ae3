import { describe, expect, it } from "vitest";
import type { AgentId } from "../../core/ids.ts";
import { gate, lastText, type Nest, stall } from "../agents/engine.test-kit.ts";
import { childrenOf, type Family, openFamily, records, reportsIn, reportTexts } from "./family.test-kit.ts";

const forever: Family = { child: (call) => stall(call, new Promise(() => {})) };

describe("stopping an agent", () => {
  it("stops everything it has started, each of which reports once", async () => {
    const nest = await openFamily(forever);
    for (const what of ["a", "b"]) await nest.tell(`spawn ${what}`);
    await nest.system.stop(await nest.agentId(), "enough");
    await nest.settle();
    for (const child of await childrenOf(nest)) {
      expect((await nest.runs(child.id)).map(({ outcome }) => outcome)).toEqual(["aborted"]);
    }
    const texts = await reportTexts(nest);
    expect(texts).toHaveLength(2);
    expect(texts[0]).toContain("just failed: it was stopped: enough.");
    // Recorded, and the person is not spoken to about what was stopped.
    expect((await reportsIn(nest)).map(({ state }) => state)).toEqual(["recorded", "recorded"]);
    expect(nest.shown()).toEqual(["started", "started"]);
  });

  it("leaves nothing that tries again for ever: what waits is settled with its trace", async () => {
    const nest = await openFamily({}, { system: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 } } });
    const busy = gate<string>();
    const script = nest.script;
    nest.script = (call) => (lastText(call.request) === "work" ? stall(call, busy.promise) : script(call));
    await nest.tell("work");
    await nest.tell("and then");
    const id = await nest.agentId();
    await nest.system.stop(id, "enough");
    await nest.settle();
    expect(await nest.states()).toEqual(["aborted", "aborted", "recorded"]);
    const [, waited] = [...(await nest.store.messages(id, { limit: 9 }))].reverse();
    expect(waited?.reason).toBe(`agent ${id} was stopped: enough`);
    const before = nest.commits.length;
    await nest.advance(300_000);
    expect(nest.commits.length - before).toBeLessThan(15);
    expect((await nest.store.agent(id))?.node).toBeUndefined();
  });

  it("holds until its person writes again, and what was told meanwhile is then known", async () => {
    const nest = await openFamily(forever);
    await nest.tell("spawn a");
    const id = await nest.agentId();
    await nest.system.stop(id, "enough");
    await nest.settle();
    await nest.system.post({ to: { agentId: id }, body: { kind: "system", text: "wake up" } });
    await nest.settle();
    expect((await nest.states()).at(-1)).toBe("aborted");
    await nest.tell("hello again");
    expect(nest.shown().at(-1)).toBe("answer to hello again");
    expect((await nest.store.agent(id))?.stopped).toBeUndefined();
    expect(JSON.stringify(nest.requests.at(-1)?.messages)).toContain("it was stopped: enough");
  });

  it("is not taken back by a message that came before it", async () => {
    const nest = await openFamily({}, {});
    const busy = gate<string>();
    const script = nest.script;
    nest.script = (call) => (lastText(call.request) === "work" ? stall(call, busy.promise) : script(call));
    await nest.tell("work");
    await nest.tell("before the stop");
    await nest.system.stop(await nest.agentId());
    await nest.settle();
    expect((await nest.store.agent(await nest.agentId()))?.stopped).toMatchObject({ seq: 3 });
    expect(nest.shown()).toEqual([]);
  });

  it("refuses a spawn that races with it, and a child that was made just before never begins", async () => {
    const nest = await openFamily();
    const spawned = gate();
    const script = nest.script;
    nest.script = async (call) => {
      const reply = await script(call);
      if (lastText(call.request).startsWith("spawn") && call.request.messages.at(-1)?.role === "user")
        await spawned.promise;
      return reply;
    };
    await nest.tell("spawn dig");
    const id = await nest.agentId();
    await nest.store.commit({
      id: "stop" as never,
      site: "t",
      at: nest.clock.now(),
      ops: [{ op: "agent.stop", agentId: id, mark: { at: 1, reason: "now" } }],
    });
    spawned.open();
    await nest.settle();
    expect(await childrenOf(nest)).toEqual([]);
    expect((await nest.runs()).map(({ outcome }) => outcome)).toEqual(["aborted"]);
  });

  it("is heeded before anything begins again after a crash", async () => {
    const nest = await openFamily(forever);
    await nest.tell("spawn a");
    const id = await nest.agentId();
    nest.crash();
    const at = nest.clock.now();
    const ops = [{ op: "agent.stop", agentId: id, mark: { at, reason: "now" } }] as const;
    await nest.store.commit({ id: "stop" as never, site: "t", at, ops });
    const calls = nest.requests.length;
    await nest.restart();
    expect(nest.requests.length).toBe(calls);
    expect(await reportsIn(nest)).toHaveLength(1);
  });

  it("never starts a subagent again", async () => {
    const nest = await openFamily(forever);
    await nest.tell("spawn a");
    const [child] = await childrenOf(nest);
    const [record] = await records(nest);
    await nest.system.subagents.stop(record?.runId ?? "");
    await nest.settle();
    await nest.system.post({ to: { agentId: child?.id as AgentId }, body: { kind: "user", text: "go on" } });
    await nest.settle();
    expect((await nest.states(child?.id)).at(-1)).toBe("aborted");
    expect(await reportsIn(nest)).toHaveLength(1);
    expect(nest.shown()).toEqual(["started", "told"]);
  });
});

describe("a person's stop", () => {
  it.each([
    [0, "No active inference to stop."],
    [1, "⚙️ Agent was aborted. Stopped 1 sub-agent."],
    [2, "⚙️ Agent was aborted. Stopped 2 sub-agents."],
  ])("stops %s children too and says so", async (count, text) => {
    const nest = await openFamily(forever);
    for (let n = 0; n < count; n++) await nest.tell(`spawn ${n}`);
    await nest.send({ kind: "stop" });
    await nest.settle();
    expect(nest.shown()).toContain(text);
    expect(await reportsIn(nest)).toHaveLength(count);
    for (const { endedAt } of await records(nest)) expect(endedAt).toBeDefined();
  });
});

describe("whom a report goes to", () => {
  const remove = async (nest: Nest, id: AgentId): Promise<void> => {
    const removed = nest.system.remove(id);
    for (let n = 0; n < 5; n++) await nest.advance(500);
    await removed;
  };
  /** A schedule's agent starts a child. */
  const scheduled = async (child: Parameters<typeof openFamily>[0], options = {}): Promise<[Nest, AgentId]> => {
    const nest = await openFamily(child, options);
    const script = nest.script;
    nest.script = (call) =>
      lastText(call.request).includes("by the clock") && call.request.messages.at(-1)?.role === "user"
        ? { call: [{ name: "sessions_spawn", with: { task: "task a" } }] }
        : script(call);
    const body = { kind: "trigger", text: "by the clock", trigger: { type: "cron", id: "job" } } as const;
    const posted = await nest.system.post({ to: { descriptor: { type: "cron", id: "job" } }, body });
    await nest.settle();
    return [nest, (posted as { agentId: AgentId }).agentId];
  };
  const told = async (nest: Nest) => (await reportsIn(nest)).map(({ agentId, delivery }) => [agentId, delivery?.to]);

  it("is its requester, which answers where it was asked from when it spawned", async () => {
    const ready = gate<string>();
    const nest = await openFamily({ child: () => ready.promise });
    await nest.say("spawn a", { delivery: { channel: "test", to: "there" } });
    await nest.settle();
    await nest.tell("and now from elsewhere", { delivery: { channel: "test", to: "elsewhere" } });
    ready.open("found");
    await nest.settle();
    expect(await told(nest)).toEqual([[await nest.agentId(), "there"]]);
    expect(nest.channel().calls.at(-1)).toMatchObject({ target: { to: "there" }, payload: { text: "told" } });
  });

  it("is its requester also after a reset, in the new session", async () => {
    const ready = gate<string>();
    const nest = await openFamily({ child: () => ready.promise });
    await nest.tell("spawn a");
    await nest.send({ kind: "reset", by: "person" });
    await nest.settle();
    ready.open("found");
    await nest.settle();
    expect(nest.shown().at(-1)).toBe("told");
    expect((await nest.transcript()).slice(-3)).toEqual([
      "--- reset",
      expect.stringContaining("found"),
      "assistant: told",
    ]);
  });

  it.each(["removed", "stopped"])("is the most recent foreground where the requester was %s", async (how) => {
    const [nest, cron] = await scheduled(forever);
    await nest.tell("hello", { name: "bob" });
    if (how === "removed") await remove(nest, cron);
    else await nest.system.stop(cron);
    await nest.settle();
    expect(await told(nest)).toEqual([[await nest.agentId("bob"), "bob"]]);
    expect(nest.shown().at(-1)).toBe("told");
  });

  it("is nobody where nobody is there, and that is on record", async () => {
    const [nest, cron] = await scheduled(forever);
    await remove(nest, cron);
    expect(await told(nest)).toEqual([]);
    expect(await records(nest)).toMatchObject([
      { endedAt: expect.any(Number), reportDropped: "its requester is gone, and nobody has written to any agent" },
    ]);
    expect(nest.logged("warn")).toContain("a report has nobody to go to");
  });

  it("is the nearest ancestor that lives", async () => {
    const nest = await openFamily(
      {
        child: (call, task) =>
          task !== "a" || call.request.messages.at(-1)?.role === "tool"
            ? stall(call, new Promise(() => {}))
            : { call: [{ name: "sessions_spawn", with: { task: "task b" } }] },
      },
      { system: { subagents: { maxDepth: 2 } } },
    );
    await nest.tell("spawn a");
    const [child] = await childrenOf(nest);
    const [grandchild] = await childrenOf(nest, child?.id);
    expect(grandchild).toBeDefined();
    const first = (await records(nest)).find(({ task }) => task === "task a");
    await nest.system.subagents.stop(first?.runId ?? "", "enough");
    await nest.settle();
    const ann = await nest.agentId();
    expect((await told(nest)).map(([to]) => to)).toEqual([ann, ann]);
  });

  it("is looked for again where it goes away before the commit", async () => {
    const ready = gate<string>();
    const [nest, cron] = await scheduled({ child: () => ready.promise });
    await nest.tell("hello", { name: "bob" });
    const child = (await childrenOf(nest, cron))[0];
    const { agent } = nest.store;
    let first = true;
    nest.fate = (change) => {
      if (change.site !== "rest" || change.owner?.agentId !== child?.id || !first) return "go";
      first = false;
      const at = nest.clock.now();
      const ops = [{ op: "agent.remove", agentId: cron, reason: "gone" }] as const;
      void nest.store.commit({ id: "gone" as never, site: "t", at, ops });
      return "go";
    };
    ready.open("found");
    await nest.settle();
    expect(await agent(cron)).toMatchObject({ stopped: { removed: true } });
    expect((await told(nest)).map(([to]) => to)).toEqual([await nest.agentId("bob")]);
  });
});

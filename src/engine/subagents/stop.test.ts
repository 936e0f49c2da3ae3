import { describe, expect, it } from "vitest";
import type { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { lastText, stall } from "../../../test/kit/model.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { apiMailbox } from "../../core/delivery/route.ts";
import type { AgentId } from "../../core/ids.ts";
import { childrenOf, type Family, openFamily, records, reportsIn, reportTexts } from "./family.test-kit.ts";
import { stopChildrenOps } from "./stop.ts";

const forever: Family = { child: (call) => stall(call, new Promise(() => {})) };

describe("stopping an agent", () => {
  it("stops all its descendants, each of which reports once", async () => {
    const engine = await openFamily(forever);
    for (const what of ["a", "b"]) await engine.tell(`spawn ${what}`);
    await engine.system.lifecycle.stop(await engine.agentId(), "enough");
    await engine.settle();
    for (const child of await childrenOf(engine)) {
      expect((await engine.runs(child.id)).map(({ outcome }) => outcome)).toEqual(["aborted"]);
    }
    const texts = await reportTexts(engine);
    expect(texts).toHaveLength(2);
    expect(texts[0]).toContain("just failed: it was stopped: enough.");
    // Recorded: the person gets no message about the stopped children.
    expect((await reportsIn(engine)).map(({ state }) => state)).toEqual(["recorded", "recorded"]);
    expect(engine.shown()).toEqual(["started", "started"]);
  });

  it("settles waiting messages with a trace, and leaves nothing that is retried without end", async () => {
    const engine = await openFamily({}, { settings: { lanes: { main: 1, subagent: 1, cron: 1, nested: 1 } } });
    const busy = gate<string>();
    const script = engine.script;
    engine.script = (call) => (lastText(call.request) === "work" ? stall(call, busy.promise) : script(call));
    await engine.tell("work");
    await engine.tell("and then");
    const id = await engine.agentId();
    await engine.system.lifecycle.stop(id, "enough");
    await engine.settle();
    expect(await engine.states()).toEqual(["aborted", "aborted", "recorded"]);
    const [, waited] = [...(await engine.store.messages(id, { limit: 9 }))].reverse();
    expect(waited?.reason).toBe("the agent was stopped: enough");
    const before = engine.commits.length;
    await engine.advance(300_000);
    expect(engine.commits.length - before).toBeLessThan(15);
    expect((await engine.store.agent(id))?.node).toBeUndefined();
  });

  it("holds until its person writes again; earlier reports are then in its context", async () => {
    const engine = await openFamily(forever);
    await engine.tell("spawn a");
    const id = await engine.agentId();
    await engine.system.lifecycle.stop(id, "enough");
    await engine.settle();
    await engine.system.post({ to: { agentId: id }, body: { kind: "system", text: "wake up" } });
    await engine.settle();
    expect((await engine.states()).at(-1)).toBe("aborted");
    await engine.tell("hello again");
    expect(engine.shown().at(-1)).toBe("answer to hello again");
    expect((await engine.store.agent(id))?.stopped).toBeUndefined();
    expect(JSON.stringify(engine.requests.at(-1)?.messages)).toContain("it was stopped: enough");
  });

  it("is not cleared by an earlier message", async () => {
    const engine = await openFamily({}, {});
    const busy = gate<string>();
    const script = engine.script;
    engine.script = (call) => (lastText(call.request) === "work" ? stall(call, busy.promise) : script(call));
    await engine.tell("work");
    await engine.tell("before the stop");
    await engine.system.lifecycle.stop(await engine.agentId());
    await engine.settle();
    expect((await engine.store.agent(await engine.agentId()))?.stopped).toMatchObject({ seq: 3 });
    expect(engine.shown()).toEqual([]);
  });

  it("refuses a spawn that races with it", async () => {
    const engine = await openFamily();
    const spawned = gate();
    const script = engine.script;
    engine.script = async (call) => {
      const reply = await script(call);
      if (lastText(call.request).startsWith("spawn") && call.request.messages.at(-1)?.role === "user")
        await spawned.promise;
      return reply;
    };
    await engine.tell("spawn dig");
    const id = await engine.agentId();
    await engine.store.commit({
      id: "stop" as never,
      site: "t",
      at: engine.clock.now(),
      ops: [{ op: "agent.stop", agentId: id, mark: { at: 1, reason: "now" } }],
    });
    spawned.open();
    await engine.settle();
    expect(await childrenOf(engine)).toEqual([]);
    expect((await engine.runs()).map(({ outcome }) => outcome)).toEqual(["aborted"]);
  });

  it("applies after a crash before any run resumes", async () => {
    const engine = await openFamily(forever);
    await engine.tell("spawn a");
    const id = await engine.agentId();
    engine.crash();
    const at = engine.clock.now();
    const ops = [{ op: "agent.stop", agentId: id, mark: { at, reason: "now" } }] as const;
    await engine.store.commit({ id: "stop" as never, site: "t", at, ops });
    const calls = engine.requests.length;
    await engine.restart();
    expect(engine.requests.length).toBe(calls);
    expect(await reportsIn(engine)).toHaveLength(1);
  });

  it("is final for a subagent: a later message does not start it again", async () => {
    const engine = await openFamily(forever);
    await engine.tell("spawn a");
    const [child] = await childrenOf(engine);
    const [record] = await records(engine);
    await engine.system.subagents.stop(record?.runId ?? "");
    await engine.settle();
    await engine.system.post({ to: { agentId: child?.id as AgentId }, body: { kind: "user", text: "go on" } });
    await engine.settle();
    expect((await engine.states(child?.id)).at(-1)).toBe("aborted");
    expect(await reportsIn(engine)).toHaveLength(1);
    expect(engine.shown()).toEqual(["started", "told"]);
  });
});

describe("a person's stop", () => {
  it.each([
    [0, "No active inference to stop."],
    [1, "⚙️ Agent was aborted. Stopped 1 sub-agent."],
    [2, "⚙️ Agent was aborted. Stopped 2 sub-agents."],
  ])("also stops %s children and says so", async (count, text) => {
    const engine = await openFamily(forever);
    for (let n = 0; n < count; n++) await engine.tell(`spawn ${n}`);
    await engine.send({ kind: "stop" });
    await engine.settle();
    expect(engine.shown()).toContain(text);
    expect(await reportsIn(engine)).toHaveLength(count);
    for (const { endedAt } of await records(engine)) expect(endedAt).toBeDefined();
  });
});

describe("the ops that stop the children of an agent", () => {
  const requester = { id: "p", sessionKey: "k" } as unknown as AgentRecord;
  const stops = async (children: readonly object[], open: number) => {
    const read: unknown[] = [];
    const store = {
      agent: async (id: string) => ({ id, waiting: 0 }),
      children: async () => [],
      openSubagentRuns: async () => open,
      subagentRuns: async (filter: unknown) => {
        read.push(filter);
        return children;
      },
    };
    return { ...(await stopChildrenOps(store as never, requester, 5)), read };
  };

  it("are about those that have not ended and have an agent", async () => {
    const records = [{ childAgentId: "a" }, { childAgentId: "b", endedAt: 3 }, {}, { childAgentId: "c" }];
    const { ops, stopped, read } = await stops(records, 3);
    const marked = ops.flatMap((op) => (op.op === "agent.stop" ? [[op.agentId, op.mark]] : []));
    const mark = { at: 5, reason: "its requester was stopped" };
    expect([marked, stopped]).toEqual([
      [
        ["a", mark],
        ["c", mark],
      ],
      2,
    ]);
    expect(read).toEqual([{ requesterSessionKey: "k" }]);
  });

  it("cost one count if none is open: the records of those that ended are not read", async () => {
    expect(await stops([{ childAgentId: "b", endedAt: 3 }], 0)).toEqual({ ops: [], stopped: 0, read: [] });
  });
});

describe("the recipient of a report", () => {
  const remove = async (engine: TestEngine, id: AgentId): Promise<void> => {
    const removed = engine.system.lifecycle.remove(id);
    for (let n = 0; n < 5; n++) await engine.advance(500);
    await removed;
  };
  /** A schedule's agent starts a child. */
  const scheduled = async (child: Parameters<typeof openFamily>[0], options = {}): Promise<[TestEngine, AgentId]> => {
    const engine = await openFamily(child, { settings: { owner: { accounts: ["test:bob"] } }, ...options });
    const script = engine.script;
    engine.script = (call) =>
      lastText(call.request).includes("by the clock") && call.request.messages.at(-1)?.role === "user"
        ? { call: [{ name: "sessions_spawn", with: { task: "task a" } }] }
        : script(call);
    const body = { kind: "trigger", text: "by the clock", trigger: { type: "cron", id: "job" } } as const;
    const posted = await engine.system.post({ to: { descriptor: { type: "cron", id: "job" } }, body });
    await engine.settle();
    return [engine, (posted as { agentId: AgentId }).agentId];
  };
  const told = async (engine: TestEngine) =>
    (await reportsIn(engine)).map(({ agentId, delivery }) => [agentId, delivery?.to]);

  it("is its requester, which answers to the address that the spawn came from", async () => {
    const ready = gate<string>();
    const engine = await openFamily({ child: () => ready.promise });
    await engine.say("spawn a", { delivery: { channel: "test", to: "there" } });
    await engine.settle();
    await engine.tell("and now from elsewhere", { delivery: { channel: "test", to: "elsewhere" } });
    ready.open("found");
    await engine.settle();
    expect(await told(engine)).toEqual([[await engine.agentId(), "there"]]);
    expect(engine.channel().calls.at(-1)).toMatchObject({ target: { to: "there" }, payload: { text: "told" } });
  });

  it("is an API user's agent, which speaks into the user's mailbox, also after a kill in between", async () => {
    const ready = gate<string>();
    const engine = await openFamily({ child: () => ready.promise });
    // The request waits for its own answer, so it has no delivery.
    await engine.tell("spawn a", { on: "api", delivery: undefined });
    expect(await engine.deliveries()).toEqual([]);
    await engine.restart();
    ready.open("found");
    await engine.settle();
    const mailbox = [apiMailbox("ann")];
    const { items } = await engine.system.deliveries.mailboxes.page(mailbox);
    expect(items.map(({ payload }) => payload.text)).toEqual(["told"]);
    await engine.restart();
    expect(await engine.system.deliveries.mailboxes.acknowledge(mailbox, [items[0]?.id as never])).toHaveLength(1);
    expect((await engine.deliveries()).map(({ state }) => state)).toEqual(["sent"]);
  });

  it("is still its requester after a reset, in the new session", async () => {
    const ready = gate<string>();
    const engine = await openFamily({ child: () => ready.promise });
    await engine.tell("spawn a");
    await engine.send({ kind: "reset", by: "person" });
    await engine.settle();
    ready.open("found");
    await engine.settle();
    expect(engine.shown().at(-1)).toBe("told");
    expect((await engine.transcript()).slice(-3)).toEqual([
      "--- reset",
      expect.stringContaining("found"),
      "assistant: told",
    ]);
  });

  it.each(["removed", "stopped"])("is the agent its person wrote to last if the requester was %s", async (how) => {
    const [engine, cron] = await scheduled(forever);
    await engine.tell("hello", { name: "bob" });
    await engine.advance(1_000);
    await engine.tell("a stranger's message redirects nothing", { name: "mallory" });
    if (how === "removed") await remove(engine, cron);
    else await engine.system.lifecycle.stop(cron);
    await engine.settle();
    expect(await told(engine)).toEqual([[await engine.agentId("bob"), "bob"]]);
    expect(engine.channel().calls.at(-1)).toMatchObject({ target: { to: "bob" }, payload: { text: "told" } });
  });

  it("is missing if no agent is left, and the record says so", async () => {
    const [engine, cron] = await scheduled(forever);
    await remove(engine, cron);
    expect(await told(engine)).toEqual([]);
    expect(await records(engine)).toMatchObject([
      {
        endedAt: expect.any(Number),
        reportDropped: "its requester was removed, and its person has no other conversation",
      },
    ]);
    expect(engine.logged("warn")).toContain("a report has no recipient");
  });

  it("is the nearest living ancestor", async () => {
    const engine = await openFamily(
      {
        child: (call, task) =>
          task !== "a" || call.request.messages.at(-1)?.role === "tool"
            ? stall(call, new Promise(() => {}))
            : { call: [{ name: "sessions_spawn", with: { task: "task b" } }] },
      },
      { settings: { subagents: { maxDepth: 2 } } },
    );
    await engine.tell("spawn a");
    const [child] = await childrenOf(engine);
    const [grandchild] = await childrenOf(engine, child?.id);
    expect(grandchild).toBeDefined();
    const first = (await records(engine)).find(({ task }) => task === "task a");
    await engine.system.subagents.stop(first?.runId ?? "", "enough");
    await engine.settle();
    const ann = await engine.agentId();
    expect((await told(engine)).map(([to]) => to)).toEqual([ann, ann]);
  });

  it("is resolved again if it is removed before the commit", async () => {
    const ready = gate<string>();
    const [engine, cron] = await scheduled({ child: () => ready.promise });
    await engine.tell("hello", { name: "bob" });
    const child = (await childrenOf(engine, cron))[0];
    const { agent } = engine.store;
    let first = true;
    engine.onCommit = (change) => {
      if (change.site !== "rest" || change.owner?.agentId !== child?.id || !first) return "go";
      first = false;
      const at = engine.clock.now();
      const ops = [{ op: "agent.remove", agentId: cron, reason: "gone" }] as const;
      void engine.store.commit({ id: "gone" as never, site: "t", at, ops });
      return "go";
    };
    ready.open("found");
    await engine.settle();
    expect(await agent(cron)).toMatchObject({ stopped: { removed: true } });
    expect((await told(engine)).map(([to]) => to)).toEqual([await engine.agentId("bob")]);
  });
});

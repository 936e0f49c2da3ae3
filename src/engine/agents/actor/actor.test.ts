/** An actor over the faults of its store, over stops and removals, and with nothing to do: what it tries, and when. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { lastText } from "../../../../test/kit/model.ts";
import { configDefaults } from "../../../config/config-schema.ts";
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import type { ChangeId } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import type { Op } from "../../../core/store/change.ts";

let changes = 0;
const put = (engine: TestEngine, ...ops: Op[]) =>
  engine.store.commit({ id: `actor-${++changes}` as ChangeId, site: "test", at: engine.clock.now(), ops });

describe("an actor whose commits fail", () => {
  /** Times of the attempts to take a message, from the first on, of which `failures` fail. */
  async function attempts(engine: TestEngine, failures: number, forMs: number): Promise<readonly number[]> {
    const times: number[] = [];
    engine.onCommit = ({ site }) => {
      if (site !== "take") return "go";
      times.push(engine.clock.now());
      return times.length <= failures ? "full" : "go";
    };
    await engine.tell("go");
    await engine.advance(forMs);
    return times.map((at) => at - (times[0] ?? 0));
  }

  it("tries again after 100 ms and twice as long each time, at most half a minute", async () => {
    const engine = await TestEngine.open({ system: { pollMs: 3600_000 } });
    expect(await attempts(engine, 12, 300_000)).toEqual([
      0, 100, 300, 700, 1_500, 3_100, 6_300, 12_700, 25_500, 51_100, 81_100, 111_100, 141_100,
    ]);
    expect(engine.shown()).toEqual(["answer to go"]);
  });

  it("begins with the shortest wait again after it has succeeded", async () => {
    const engine = await TestEngine.open({ system: { pollMs: 3600_000 } });
    expect(await attempts(engine, 2, 1_000)).toEqual([0, 100, 300]);
    expect(await attempts(engine, 1, 1_000)).toEqual([0, 100]);
  });

  it("leaves an agent that cannot be read unchanged, says so, and tries nothing until the next message", async () => {
    const engine = await TestEngine.open({ system: { pollMs: 3600_000 } });
    await engine.tell("hi");
    const agentId = await engine.agentId();
    const { agent } = engine.store;
    let reads = 0;
    (engine.store as { agent: typeof agent }).agent = async (id) => {
      if (id === agentId) reads += 1;
      const record = await agent(id);
      return record && ({ ...record, state: "broken" } as never);
    };
    await engine.restart();
    await engine.tell("again");
    const before = reads;
    await engine.advance(60_000);
    expect([...engine.system.degraded.keys()]).toEqual([agentId]);
    expect([reads - before, engine.requests.length]).toEqual([0, 1]);
    (engine.store as { agent: typeof agent }).agent = agent;
    await engine.tell("now");
    expect(engine.shown()).toContain("answer to again");
  });
});

describe("an agent that is stopped", () => {
  test.each<[string, MessageBody, string]>([
    ["a message of the system", { kind: "system", text: "tick" }, "aborted"],
    ["a silent note", { kind: "system", text: "psst", silent: true }, "recorded"],
    ["a compaction", { kind: "compact" }, "aborted"],
  ])("tries no run for %s", async (_title, body, state) => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    await engine.system.lifecycle.stop(await engine.agentId(), "enough");
    await engine.settle();
    // The next process reads the mark with the agent.
    await engine.restart();
    const sites: string[] = [];
    engine.onCommit = ({ site }) => {
      sites.push(site);
      return "go";
    };
    await engine.send(body);
    await engine.settle();
    expect(sites).not.toContain("take");
    expect((await engine.states()).at(-1)).toBe(state);
    expect(engine.requests).toHaveLength(1);
  });

  it("starts again with a person's next message", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    const agentId = await engine.agentId();
    await engine.system.lifecycle.stop(agentId, "enough");
    await engine.settle();
    expect((await engine.store.agent(agentId))?.stopped).toMatchObject({ reason: "enough" });
    await engine.tell("back");
    expect(engine.shown()).toEqual(["answer to hi", "answer to back"]);
    expect((await engine.store.agent(agentId))?.stopped).toBeUndefined();
  });
});

describe("an agent that is being removed", () => {
  it("settles what waits as removed, the stop that woke it as recorded, and is gone", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    const agentId = await engine.agentId();
    await engine.drain();
    const at = engine.clock.now();
    const post = (body: MessageBody): Op => ({
      op: "message.post",
      to: { agentId },
      message: { body, acceptedAt: at },
    });
    await put(
      engine,
      post({ kind: "user", text: "late" }),
      { op: "agent.stop", agentId, mark: { at, reason: "removed by ann", removing: true } },
      post({ kind: "stop" }),
      post({ kind: "setting", patch: { verboseLevel: "on" } }),
    );
    await engine.restart();
    const messages = (await engine.store.messages(agentId, { limit: 9 })).toReversed();
    expect(messages.map(({ body, state }) => [body.kind, state])).toEqual([
      ["user", "answered"],
      ["user", "removed"],
      ["stop", "recorded"],
      ["setting", "removed"],
    ]);
    expect(engine.requests).toHaveLength(1);
    expect((await engine.store.agent(agentId))?.stopped).toMatchObject({ removed: true });
  });
});

describe("messages above the cap of a queue", () => {
  test.each(["followup", "queue"] as const)("leave a line of their own in the prompt of mode %s", async (mode) => {
    let go = (): void => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const engine = await TestEngine.open({
      script: async ({ request }) => {
        const text = lastText(request);
        if (text === "one") await held;
        return `answer to ${text}`;
      },
      system: { queue: { ...configDefaults.queue, byChannel: {}, mode, cap: 1, drop: "summarize" } },
    });
    await engine.tell("one");
    for (const word of ["two", "three", "four"]) await engine.tell(word);
    go();
    await engine.advance(20_000);
    const lines = (await engine.transcript()).filter((line) => line.startsWith("user:"));
    expect(lines).toEqual([
      "user: one",
      "user: [Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- three",
      "user: four",
    ]);
    expect(engine.shown()).toEqual(["answer to one", "answer to four"]);
    expect(await engine.states()).toEqual(["answered", "dropped", "dropped", "answered"]);
  });
});

describe("how many messages of people a run has taken", () => {
  const source = (id: string) => ({ connector: "test", channelId: "ann", messageId: id });
  test.each([
    ["one of a person", [source("a")], undefined],
    ["one of another agent, which is no person", [undefined], 0],
  ])("is stored only if it does not follow from the run: %s", async (_title, sources, said) => {
    const engine = await TestEngine.open();
    for (const from of sources) {
      await engine.system.post({ ...engine.person(), body: { kind: "user", text: "go" }, source: from });
    }
    await engine.settle();
    expect((await engine.runs())[0]?.body.said).toBe(said);
  });
});

describe("an agent whose commands run on another node", () => {
  const HOUR = 3600_000;
  /** The nodes of the store beside this one. `builder` is the one where the agent's commands run. */
  test.each<[string, readonly { name: string; lease?: number; leaves?: true }[], boolean]>([
    ["that lives", [{ name: "builder" }], true],
    ["that does not exist", [{ name: "other" }], false],
    ["whose lease is over", [{ name: "builder", lease: 0 }, { name: "other" }], false],
    ["that has left", [{ name: "builder", leaves: true }, { name: "other" }], false],
    ["beside others", [{ name: "other" }, { name: "builder" }, { name: "third" }], true],
  ])("is handed to that node, if it is one %s", async (_title, nodes, handed) => {
    const engine = await TestEngine.open({ system: { rights: { rules: { nodeOf: () => "builder" } as never } } });
    let builder: number | undefined;
    for (const { name, lease = HOUR, leaves } of nodes) {
      const joined = await put(engine, { op: "node.join", name, leaseUntil: engine.clock.now() + lease });
      const [one] = joined.ok ? joined.results : [];
      if (one?.op !== "node.join") throw new TypeError("no node");
      if (name === "builder") builder = one.node;
      if (leaves) await put(engine, { op: "node.leave", node: one.node });
    }
    await engine.tell("go");
    expect(engine.shown()).toEqual(handed ? [] : ["answer to go"]);
    if (handed) expect((await engine.store.agent(await engine.agentId()))?.node).toBe(builder);
  });
});

describe("a system that has loaded and not started", () => {
  it("accepts a message and begins no run; it is answered after the start", async () => {
    const engine = TestEngine.unloaded();
    await engine.system.load();
    await engine.say("early");
    await engine.settle();
    expect([engine.requests.length, engine.system.loaded]).toEqual([0, 0]);
    await engine.system.start();
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to early"]);
  });
});

describe("a permanent agent", () => {
  const GUIDE: AgentDescriptor = {
    ...{ type: "permanent", id: "9".repeat(24), name: "guide", description: "old", systemPrompt: "old prompt" },
  };
  test.each<[string, object, object]>([
    ["a new directory and name", { workspaceDir: "/w", username: "gus" }, { workspaceDir: "/w", username: "gus" }],
    ["no directory", {}, { workspaceDir: "/old" }],
  ])("is described anew, with %s: what is not given stays", async (_title, more, after) => {
    const engine = await TestEngine.open();
    const to = { descriptor: { ...GUIDE, workspaceDir: "/old" } as AgentDescriptor };
    const first = await engine.system.post({ to, body: { kind: "user", text: "hi" } });
    if (first.status === "stale") throw new TypeError("not accepted");
    await engine.settle();
    const body = { kind: "describe", by: "owner", description: "new", systemPrompt: "new prompt", ...more } as const;
    await engine.system.post({ to: { agentId: first.agentId }, body });
    await engine.settle();
    expect((await engine.store.agent(first.agentId))?.descriptor).toMatchObject({ description: "new", ...after });
    if (!("username" in after)) {
      expect((await engine.store.agent(first.agentId))?.descriptor).not.toHaveProperty("username");
    }
  });
});

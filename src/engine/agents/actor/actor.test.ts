/** How an actor handles faults of its store, stops, drains, arrivals at any moment, and nodes that its commands belong to. */
import { describe, expect, it, test } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { lastText, stall } from "../../../../test/kit/model.ts";
import { configDefaults } from "../../../config/config-schema.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { MessageBody } from "../../../core/message/message.ts";
import { OWNER } from "../../../core/people/person.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";

const never = new Promise<never>(() => {});
const BURST = { kind: "user", text: "part", burst: "text" } as const;

describe("retries of an actor", () => {
  /** Lets the first attempts to take a message fail. Returns the times of all attempts since the first one. */
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

  it("wait 100 ms and twice as long each time, at most half a minute", async () => {
    const engine = await TestEngine.open({ system: { pollMs: 3600_000 } });
    expect(await attempts(engine, 12, 300_000)).toEqual([
      0, 100, 300, 700, 1_500, 3_100, 6_300, 12_700, 25_500, 51_100, 81_100, 111_100, 141_100,
    ]);
    expect(engine.shown()).toEqual(["answer to go"]);
  });

  it("start with the shortest wait after a success", async () => {
    const engine = await TestEngine.open({ system: { pollMs: 3600_000 } });
    expect(await attempts(engine, 2, 1_000)).toEqual([0, 100, 300]);
    expect(await attempts(engine, 1, 1_000)).toEqual([0, 100]);
  });

  it("do not happen for an unreadable agent until its next message", async () => {
    const engine = await TestEngine.open({ system: { pollMs: 3600_000 } });
    await engine.tell("hi");
    const agentId = await engine.agentId();
    const { agent } = engine.store;
    let reads = 0;
    (engine.store as { agent: typeof agent }).agent = async (id) => {
      if (id === agentId) reads += 1;
      const record = await agent(id);
      return record && Object.assign({}, record, { state: "broken" });
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

describe("a stopped agent", () => {
  test.each<[string, MessageBody, string]>([
    ["a message of the system", { kind: "system", text: "tick" }, "aborted"],
    ["a silent note", { kind: "system", text: "psst", silent: true }, "recorded"],
    ["a compaction", { kind: "compact" }, "aborted"],
  ])("starts no run for %s", async (_title, body, state) => {
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

describe("a removal", () => {
  it("settles waiting messages as removed and its stop as recorded", async () => {
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
    await engine.put(
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

describe("a queue above its cap", () => {
  test.each(["followup", "queue"] as const)(
    "adds a line about dropped messages to the prompt of mode %s",
    async (mode) => {
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
        settings: { queue: { ...configDefaults.queue, byChannel: {}, mode, cap: 1, drop: "summarize" } },
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
    },
  );
});

describe("the count of people's messages in a run", () => {
  const source = (id: string) => ({ connector: "test", channelId: "ann", messageId: id });
  test.each([
    ["a message of a person", [source("a")], undefined],
    ["a message of another agent", [undefined], 0],
  ])("is stored only if it does not follow from the run: %s", async (_title, sources, said) => {
    const engine = await TestEngine.open();
    for (const from of sources) {
      await engine.system.post({ ...engine.person(), body: { kind: "user", text: "go" }, source: from });
    }
    await engine.settle();
    expect((await engine.runs())[0]?.body.said).toBe(said);
  });
});

describe("an agent with commands on another node", () => {
  const HOUR = 3600_000;
  interface Other {
    readonly name: string;
    readonly lease?: number;
    /** It left, or joined again under another number. */
    readonly ends?: "left" | "returned";
  }
  const builder: Other = { name: "builder" };
  const other: Other = { name: "other" };

  /** `expected`: the place of the node in the list that gets the agent. */
  test.each<[string, readonly Other[], number | undefined]>([
    ["hands it to that node", [builder], 0],
    ["finds that node among others", [other, builder, other], 1],
    ["finds a node whose name has its process in it", [{ name: "builder pid 9" }], 0],
    ["takes the newer of two nodes", [builder, builder], 1],
    ["takes the older one if the newer one has left", [builder, { ...builder, ends: "left" }], 0],
    ["works here if that node does not exist", [other], undefined],
    ["works here if its lease is over", [{ ...builder, lease: 0 }, other], undefined],
    ["works here if it has left", [{ ...builder, ends: "left" }, other], undefined],
    ["works here if it returned under another name", [{ ...builder, ends: "returned" }, other], undefined],
  ])("%s", async (_title, nodes, expected) => {
    const engine = await TestEngine.open({
      settings: { profiles: { main: { exec: { host: "node", node: "builder" } } } },
    });
    const joined: number[] = [];
    const join = async (name: string, lease = HOUR, was?: number): Promise<number> => {
      const [one] = await engine.put({ op: "node.join", name, leaseUntil: engine.clock.now() + lease, was });
      return one?.op === "node.join" ? one.node : -1;
    };
    for (const { name, lease, ends } of nodes) {
      const node = await join(name, lease);
      joined.push(node);
      if (ends === "left") await engine.put({ op: "node.leave", node });
      if (ends === "returned") await join("elsewhere", HOUR, node);
    }
    await engine.tell("go");
    expect(engine.shown()).toEqual(expected === undefined ? ["answer to go"] : []);
    if (expected !== undefined) expect((await engine.agent()).node).toBe(joined[expected]);
  });
});

describe("a loaded system that has not started", () => {
  it("accepts a message and answers it after the start", async () => {
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

describe("a wait for more parts of a message", () => {
  /** An agent that waits 300 ms for them. */
  async function waiting(): Promise<TestEngine> {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    await engine.say("", { body: BURST });
    await engine.settle();
    expect(engine.requests).toHaveLength(1);
    return engine;
  }

  it("is not made longer by another message", async () => {
    const engine = await waiting();
    await engine.advance(200);
    await engine.say("", { body: { ...BURST, text: "more" } });
    await engine.advance(99);
    expect(engine.requests).toHaveLength(1);
    await engine.advance(2_000);
    expect(engine.shown().at(-1)).toContain("part\nmore");
  });

  it("ends at once for an urgent message", async () => {
    const engine = await waiting();
    await engine.send({ kind: "reset", by: "person" });
    await engine.settle();
    expect(engine.shown().at(-1)).toBe("Session reset.");
  });
});

describe("a drain", () => {
  it("ends the work of an agent after its current commit", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    const paused = engine.pauseAt("record");
    await engine.send({ kind: "system", text: "note", silent: true });
    await paused.reached;
    await engine.say("late");
    const drained = engine.system.drain();
    paused.release();
    await engine.settle();
    await drained;
    expect([await engine.states(), engine.requests.length]).toEqual([["answered", "recorded", "waiting"], 1]);
    await engine.restart();
    expect(engine.shown().at(-1)).toBe("answer to late");
  });
});

describe("a message at any moment of the work", () => {
  const sites = ["take", "think", "result", "rest", "release", "record"] as const;
  const cases = sites.flatMap((site) => (["before", "after"] as const).map((moment) => [moment, site] as const));
  it.each(cases)("is handled if it comes %s the commit of %s", async (moment, site) => {
    const engine = await TestEngine.open({
      script: ({ request }) =>
        request.messages.at(-1)?.role === "tool" || lastText(request) !== "first"
          ? `answer to ${lastText(request)}`
          : { call: [{ name: "work" }] },
      tools: { work: {} },
    });
    engine.at(site, () => engine.say("second"), moment);
    await engine.tell("first");
    await engine.send({ kind: "system", text: "note", silent: true });
    await engine.advance(1_000);
    expect(engine.shown()).toEqual(["answer to first", "answer to second"]);
    expect(await engine.store.busyAgents({ limit: 9 })).toEqual([]);
  });
});

describe("a refused commit", () => {
  it("makes the agent read itself again, and logs no error", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    const agentId = await engine.agentId();
    // Another program settles the message between its read and its take.
    engine.at("take", () => engine.system.dropMessage({ agentId, seq: 2, by: { person: OWNER, surface: "test" } }));
    await engine.tell("gone");
    await engine.advance(1_000);
    expect(await engine.states()).toEqual(["answered", "dropped"]);
    await engine.tell("next");
    expect(engine.shown()).toEqual(["answer to hi", "answer to next"]);
    expect(engine.logged("error")).toEqual([]);
  });
});

describe("an abort mark of another node", () => {
  it("ends the run at once, while its model answers nothing", async () => {
    const engine = TestEngine.unloaded({ script: (call) => stall(call, never) });
    let hint = (_agentId: AgentId): void => {};
    (engine.store as { onHint: Store["onHint"] }).onHint = (listener) => {
      hint = listener;
      return () => {};
    };
    await engine.boot();
    await engine.tell("work");
    const [run] = await engine.runs();
    if (!run) throw new TypeError("no run");
    await engine.put({ op: "run.abort", runId: run.id, mark: { reason: "person", at: engine.clock.now() } });
    hint(run.agentId);
    await engine.settle();
    expect((await engine.runs())[0]).toMatchObject({ state: "ended", outcome: "aborted" });
  });
});

describe("agents in memory above the limit", () => {
  it("stay while they work, and the one that rested longest leaves first", async () => {
    const engine = await TestEngine.open({
      script: (call) => (lastText(call.request) === "work" ? stall(call, never) : "done"),
      system: { warm: 2 },
    });
    await engine.tell("work", { name: "busy" });
    for (const name of ["a", "b", "c", "a"]) await engine.tell("hi", { name });
    const before = engine.system.loaded;
    expect([before, engine.system.runs.live(await engine.agentId("busy"))?.id]).toEqual([2, expect.any(String)]);
    const { linesBack } = engine.store;
    const read: string[] = [];
    (engine.store as { linesBack: typeof linesBack }).linesBack = (id, page) => {
      read.push(id);
      return linesBack(id, page);
    };
    // The one that was woken last has its context in memory.
    await engine.tell("again", { name: "a" });
    expect(read).toEqual([]);
    await engine.tell("again", { name: "b" });
    expect(read).toContain(await engine.agentId("b"));
  });
});

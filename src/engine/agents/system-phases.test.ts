/** The phases of a node: in which order its parts start and stop, and what a failure of one of them changes. */
import { describe, expect, it, test } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { inTurn, lastText, type Reply, type Script, stall } from "../../../test/kit/model.ts";
import { TestTools } from "../../../test/kit/tools.ts";
import { personAddress } from "../../core/delivery/route.ts";
import { OWNER_READS } from "../runtime/people.ts";
import { family } from "../subagents/family.test-kit.ts";
import { commit, from, outcomeOf } from "./agent-system.test-kit.ts";
import { AgentSystem } from "./agent-system.ts";

const endless: Script = (call) => stall(call, new Promise(() => {}));

/** An engine with two channels, whose connectors' starts and stops are listed. */
function watched(options: TestEngineOptions = {}) {
  const happened: string[] = [];
  const channels = ["test", "other"].map((name) => {
    const one = channel(name);
    one.onStart = async () => happened.push(`start ${name}`);
    one.onStop = async () => happened.push(`stop ${name}`);
    return one;
  });
  return { engine: TestEngine.unloaded({ ...options, channels }), happened, channels };
}
const nodes = async (engine: TestEngine) => (await engine.store.nodes()).map(({ left }) => (left ? "left" : "joined"));

describe("start", () => {
  it("starts the connectors in turn after the node has joined", async () => {
    const { engine, happened } = watched();
    await expect(engine.system.start()).rejects.toMatchObject({
      ...{ code: "invariant", message: "AgentSystem must load before starting" },
    });
    await engine.system.load();
    expect([await nodes(engine), happened]).toEqual([["joined"], []]);
    await engine.system.start();
    expect(happened).toEqual(["start test", "start other"]);
    await expect(engine.system.start()).rejects.toThrow("must load before starting");
  });

  it("answers a message that a connector submits while it starts", async () => {
    const { engine, channels } = watched();
    const [test] = channels;
    if (test) test.onStart = (host) => host.accept({ ...from(), text: "early" });
    await engine.system.load();
    await engine.system.start();
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to early"]);
  });

  it("answers messages that were accepted after loading", async () => {
    const engine = TestEngine.unloaded();
    await engine.system.load();
    await engine.say("early");
    await engine.settle();
    expect(await engine.states()).toEqual(["waiting"]);
    await engine.system.start();
    await engine.settle();
    expect(engine.shown()).toEqual(["answer to early"]);
  });

  it("renews the lease while the node lives", async () => {
    const engine = await TestEngine.open({ system: { leaseMs: 8_000, pollMs: 3_000 } });
    const lease = async () => ((await engine.store.nodes())[0]?.leaseUntil ?? 0) - engine.clock.now();
    expect(await lease()).toBe(8_000);
    for (let second = 0; second < 20; second++) {
      await engine.advance(1_000);
      expect(await lease()).toBeGreaterThan(5_000);
    }
  });
});

describe("a message that another node accepted", () => {
  const posted = async (engine: TestEngine) =>
    commit(engine, {
      ...{ op: "message.post", to: { agentId: await engine.agentId() } },
      message: { body: { kind: "user", text: "from outside" }, acceptedAt: engine.clock.now() },
    });

  it.each([
    [false, 2],
    [true, 1],
  ])("is found by the next poll unless the node drains (%s)", async (drains, requests) => {
    const engine = await TestEngine.open({ system: { pollMs: 1_000 } });
    await engine.tell("hi");
    if (drains) await engine.drain();
    await posted(engine);
    await engine.advance(1_000);
    expect(engine.requests).toHaveLength(requests);
  });
});

describe("drain", () => {
  it("stops every connector even if one fails, and leaves the store last", async () => {
    const { engine, happened, channels } = watched();
    await engine.system.load();
    await engine.system.start();
    const [test] = channels;
    if (test) {
      test.onStop = async () => {
        happened.push(...(await nodes(engine)));
        throw new TypeError("stuck");
      };
    }
    await engine.drain();
    expect(happened.slice(2)).toEqual(["joined", "stop other"]);
    expect(await nodes(engine)).toEqual(["left"]);
    expect(engine.logged("warn")).toEqual(["a connector did not stop"]);
  });

  it("stops no connector that has not started, and leaves nothing that it has not joined", async () => {
    const loaded = watched();
    await loaded.engine.system.load();
    await loaded.engine.drain();
    expect([loaded.happened, await nodes(loaded.engine)]).toEqual([[], ["left"]]);
    const fresh = watched();
    await fresh.engine.drain();
    expect([fresh.happened, await nodes(fresh.engine), fresh.engine.logged("warn")]).toEqual([[], [], []]);
  });

  it("completes even if the node cannot leave the store", async () => {
    const engine = await TestEngine.open();
    engine.onCommit = ({ ops }) => (ops.some(({ op }) => op === "node.leave") ? "throw" : "go");
    await engine.drain();
    expect(engine.logged("warn")).toEqual(["the node could not leave the store"]);
  });

  it("resolves for every caller when the work is suspended, and then rejects waits", async () => {
    const tools = new TestTools({ work: {} });
    const held = tools.hold("work");
    const engine = await TestEngine.open({ tools: tools.specs, script: inTurn({ call: [{ name: "work" }] }, "done") });
    const answer = outcomeOf(engine.system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "go" } }));
    await held.started;
    const both = [
      outcomeOf(engine.system.drain().then(() => "one")),
      outcomeOf(engine.system.drain().then(() => "two")),
    ];
    await engine.settle();
    expect([...both, answer]).toEqual([{}, {}, {}]);
    held.release("worked");
    await engine.settle();
    expect(both).toEqual([{ value: "one" }, { value: "two" }]);
    expect(answer.error?.message).toBe("The process is stopping.");
    expect((await engine.runs())[0]).toMatchObject({ state: "open", body: { paused: true } });
  });

  it("leaves only work open that resumes after the restart", async () => {
    const engine = await TestEngine.open({ script: endless });
    await engine.tell("one");
    await engine.say("two");
    await engine.drain();
    expect(await engine.states()).toEqual(["taken", "waiting"]);
    engine.script = ({ request }) => `answer to ${lastText(request)}`;
    await engine.restart();
    expect(engine.shown()).toEqual(["answer to one", "answer to two"]);
  });

  it("keeps messages that are posted during and after it for the next process", async () => {
    const engine = await TestEngine.open();
    await engine.tell("one");
    const draining = engine.system.drain();
    await engine.say("two");
    await engine.settle();
    await draining;
    await engine.say("three");
    await engine.say("four", { name: "new person" });
    await engine.advance(60_000);
    expect(await engine.states()).toEqual(["answered", "waiting", "waiting"]);
    expect(engine.requests).toHaveLength(1);
    await engine.restart();
    expect(await engine.states()).toEqual(["answered", "answered", "answered"]);
    expect(engine.shown()).toHaveLength(4);
  });

  it("leaves no timer, even with children and a suspended run", async () => {
    const engine = await TestEngine.open({
      children: true,
      script: (call) => family({ child: () => stall(call, new Promise(() => {})) })(call),
    });
    await engine.tell("spawn a");
    await engine.advance(5_000);
    await engine.drain();
    expect(engine.clock.timers).toBe(0);
  });
});

it("resolves settled() when no agent works any more", async () => {
  const hold = gate<Reply>();
  const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise) });
  await engine.tell("hi");
  const settled = outcomeOf(engine.system.settled().then(() => "settled"));
  await engine.settle();
  expect(settled).toEqual({});
  hold.open("done");
  await engine.settle();
  expect([settled, await engine.states()]).toEqual([{ value: "settled" }, ["answered"]]);
});

describe("a delivery without a route", () => {
  test.each<[string, (engine: TestEngine) => unknown]>([
    ["connectors change", (engine) => engine.system.reloaded()],
    ["its person writes", (engine) => engine.tell("again")],
  ])("is sent when %s", async (_title, change) => {
    const engine = await TestEngine.open();
    await engine.tell("hello", { delivery: personAddress("owner") });
    await engine.advance(5_000);
    await commit(engine, { op: "fact.put", key: OWNER_READS, value: "1" });
    await engine.advance(5_000);
    const state = async () =>
      (await engine.deliveries()).find(({ payload }) => payload.text === "answer to hello")?.state;
    expect(await state()).toBe("unroutable");
    await change(engine);
    await engine.advance(5_000);
    expect(await state()).toBe("waiting-reader");
  });

  test.each<[string, number | undefined, readonly string[]]>([
    ["loses its route at once on the only node", undefined, ["unroutable", "unroutable"]],
    ["is left to other nodes for a minute", 60_000, ["pending", "unroutable"]],
  ])("%s after its connector was removed", async (_title, leaseMs, states) => {
    const one = channel("test");
    one.sending = () => ({ status: "retry", reason: "down" });
    const engine = TestEngine.unloaded({ channels: [one] });
    const ports = engine.ports({ alive: true, name: "removing" });
    const connectors = new Map(ports.connectors);
    const resolveModel = () => ({ model: "scripted", system: "You are under test." });
    const { settings } = engine;
    engine.system = new AgentSystem(
      { ...ports, connectors },
      { nodeName: "removing", settings, resolveModel, leaseMs },
    );
    await engine.system.load();
    await engine.system.start();
    await engine.tell("hi");
    connectors.delete("test");
    const seen: (string | undefined)[] = [];
    for (const ms of [5_000, 90_000]) {
      await engine.advance(ms);
      seen.push((await engine.deliveries())[0]?.state);
    }
    expect(seen).toEqual(states);
    await engine.drain();
  });
});

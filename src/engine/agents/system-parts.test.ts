/** How the parts of a node hang together: what its start, its reloads and its events set off in them. */
import { describe, expect, it, test } from "vitest";
import { channel } from "../../../test/kit/channel.ts";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { type Reply, stall } from "../../../test/kit/model.ts";
import { personAddress } from "../../core/delivery/route.ts";
import type { ChangeId } from "../../core/ids.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Op } from "../../core/store/change.ts";
import { OWNER_READS } from "../runtime/people.ts";
import { AgentSystem } from "./agent-system.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";

const put = (engine: TestEngine, id: string, op: Op) =>
  engine.store.commit({ id: id as ChangeId, site: "test", at: engine.clock.now(), ops: [op] });

describe("an answer that is being written", () => {
  /** A system whose channel shows it, on the engine's store. */
  async function showing(options: Partial<AgentSystemOptions> = {}, said = "so far") {
    const hold = gate<Reply>();
    const engine = TestEngine.unloaded({ script: (call) => stall(call, hold.promise, said) });
    const ports = engine.ports({ alive: true, name: "showing" });
    const seen: string[] = [];
    const view = () => ({
      text: (text: string) => void seen.push(text),
      status: () => {},
      close: () => void seen.push("closed"),
    });
    const connectors = ports.connectors as Map<string, Connector>;
    const show = (): void => {
      connectors.set("test", { ...(connectors.get("test") as Connector), view: view as never });
    };
    const resolveModel = () => ({ model: "scripted", system: "You are under test." });
    const system = new AgentSystem(ports, { nodeName: "showing", resolveModel, ...options } as AgentSystemOptions);
    engine.system = system;
    return { engine, system, seen, hold, show };
  }

  test.each<[string, Partial<AgentSystemOptions>, string, string]>([
    ["all of it", {}, "so <final>far", "so <final>far"],
    ["only what is final, if that is enforced", { runs: { enforceFinalTag: true } }, "so <final>far", "far"],
  ])("is shown from the node's start to its drain: %s", async (_title, options, said, shown) => {
    const { engine, system, seen, show } = await showing(options, said);
    show();
    await system.load();
    await system.start();
    await engine.tell("hi");
    expect(seen).toEqual([shown]);
    await engine.drain();
    expect(seen).toEqual([shown, "closed"]);
  });

  it("is shown by a connector that is added later", async () => {
    const { engine, system, seen, show, hold } = await showing();
    await system.load();
    await system.start();
    show();
    await engine.tell("one");
    expect(seen).toEqual([]);
    system.connectorsChanged();
    hold.open("done");
    await engine.settle();
    await engine.tell("two");
    expect(seen).toContain("so far");
  });

  it("is not shown by a node that has not started", async () => {
    const { system, show } = await showing();
    show();
    await system.load();
    let listens = 0;
    system.events.listenToOwn = () => {
      listens += 1;
      return () => {};
    };
    system.connectorsChanged();
    expect(listens).toBe(0);
    await system.start();
    system.connectorsChanged();
    expect(listens).toBe(1);
  });
});

it("sends what had no route when connectors change, because one may have appeared", async () => {
  const engine = await TestEngine.open();
  await engine.tell("hello", { delivery: personAddress("owner") });
  await engine.advance(5_000);
  await put(engine, "route", { op: "fact.put", key: OWNER_READS, value: "1" });
  await engine.advance(5_000);
  expect((await engine.deliveries())[0]).toMatchObject({ state: "unroutable" });
  engine.system.connectorsChanged();
  await engine.advance(5_000);
  expect((await engine.deliveries())[0]).toMatchObject({ state: "waiting-reader" });
});

it("sends what had no route when a message comes, because its person has one now", async () => {
  const engine = await TestEngine.open();
  await engine.tell("hello", { delivery: personAddress("owner") });
  await engine.advance(5_000);
  await put(engine, "route", { op: "fact.put", key: OWNER_READS, value: "1" });
  await engine.advance(5_000);
  expect((await engine.deliveries())[0]).toMatchObject({ state: "unroutable" });
  await engine.tell("again");
  await engine.advance(5_000);
  const about = (await engine.deliveries()).find(({ payload }) => payload.text === "answer to hello");
  expect(about).toMatchObject({ state: "waiting-reader" });
});

test.each<[string, number | undefined, readonly string[]]>([
  ["loses its route at once on the only node", undefined, ["unroutable", "unroutable"]],
  ["is left to other nodes for a minute", 60_000, ["pending", "unroutable"]],
])("a delivery whose connector was removed %s", async (_title, leaseMs, states) => {
  const one = channel("test");
  one.sending = () => ({ status: "retry", reason: "down" });
  const engine = TestEngine.unloaded({ channels: [one] });
  const ports = engine.ports({ alive: true, name: "removing" });
  const resolveModel = () => ({ model: "scripted", system: "You are under test." });
  const system = new AgentSystem(ports, { nodeName: "removing", resolveModel, leaseMs } as AgentSystemOptions);
  engine.system = system;
  await system.load();
  await system.start();
  await engine.tell("hi");
  (ports.connectors as Map<string, Connector>).delete("test");
  const seen: (string | undefined)[] = [];
  for (const ms of [5_000, 90_000]) {
    await engine.advance(ms);
    seen.push((await engine.deliveries())[0]?.state);
  }
  expect(seen).toEqual(states);
  await engine.drain();
});

describe("an agent that another node has woken", () => {
  /** A message that comes into the store without this node. */
  async function posted(engine: TestEngine): Promise<void> {
    const agentId = await engine.agentId();
    const message = { body: { kind: "user", text: "from outside" }, acceptedAt: engine.clock.now() } as const;
    await put(engine, "outside", { op: "message.post", to: { agentId }, message });
  }

  it("is found by the next look at the store", async () => {
    const engine = await TestEngine.open({ system: { pollMs: 1_000 } });
    await engine.tell("hi");
    await posted(engine);
    await engine.settle();
    const before = engine.requests.length;
    await engine.advance(1_000);
    expect([before <= 2, engine.requests.length]).toEqual([true, 2]);
  });

  it("is not taken by a node that drains", async () => {
    const engine = await TestEngine.open({ system: { pollMs: 1_000 } });
    await engine.tell("hi");
    await engine.drain();
    await posted(engine);
    await engine.advance(10_000);
    expect(engine.requests).toHaveLength(1);
  });
});

describe("a message that a person drops", () => {
  const by = { person: "owner", surface: "test" } as never;
  it("ends the wait for it", async () => {
    const hold = gate<Reply>();
    const engine = await TestEngine.open({ script: (call) => stall(call, hold.promise) });
    await engine.tell("one");
    const two = await engine.tell("two");
    if (two.status === "stale") throw new TypeError("not accepted");
    const wait = engine.system.waitForMessage(two, 60_000);
    const dropped = await engine.system.dropMessage({ agentId: two.agentId, seq: two.seq, by });
    expect([dropped.state, await wait]).toMatchObject(["dropped", { result: undefined }]);
    hold.open("done");
    await engine.settle();
    expect(await engine.states()).toEqual(["answered", "dropped"]);
  });

  it("must be one of a node that has joined", async () => {
    const { system } = TestEngine.unloaded();
    await expect(system.dropMessage({ agentId: "a" as never, seq: 1, by })).rejects.toThrow("must load before");
  });
});

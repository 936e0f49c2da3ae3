/** The phases of a node: in which order its parts start and stop, and what a failure of one of them changes. */
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { type Reply, stall } from "../../../test/kit/model.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import { AgentSystem } from "./agent-system.ts";
import type { AgentSystemOptions } from "./agent-system-options.ts";

/** A system with two connectors that say what happens to them. The first fails to stop, if the test wants that. */
function world(
  given: {
    failsToStop?: boolean;
    onStart?: (host: ConnectorHost) => Promise<unknown>;
    options?: Partial<AgentSystemOptions>;
  } = {},
) {
  const hold = gate<Reply>();
  const engine = TestEngine.unloaded({ script: (call) => stall(call, hold.promise) });
  const ports = engine.ports({ alive: true, name: "phases" });
  const happened: string[] = [];
  const connectors = ports.connectors as Map<string, Connector>;
  const plain = connectors.get("test") as Connector;
  for (const name of ["test", "other"]) {
    connectors.set(name, {
      ...plain,
      name,
      start: async (host) => {
        happened.push(`start ${name}`);
        if (name === "test") await given.onStart?.(host);
      },
      stop: async () => {
        happened.push(`stop ${name}`);
        if (name === "test" && given.failsToStop) throw new TypeError("stuck");
      },
    });
  }
  engine.onCommit = ({ ops }) => {
    for (const { op } of ops) if (op === "node.leave" || op === "node.join") happened.push(op);
    return "go";
  };
  const resolveModel = () => ({ model: "scripted", system: "You are under test." });
  const options: AgentSystemOptions = { nodeName: "phases", resolveModel, ...given.options } as AgentSystemOptions;
  const system = new AgentSystem(ports, options);
  engine.system = system;
  return { engine, system, happened, hold };
}

describe("a start", () => {
  it("comes after the node has joined, with the connectors last, one after the other", async () => {
    const { system, happened } = world();
    await system.load();
    expect(happened).toEqual(["node.join"]);
    await system.start();
    expect(happened).toEqual(["node.join", "start test", "start other"]);
    await expect(system.start()).rejects.toThrow("must load before starting");
  });

  it("finds the node at work for what a connector submits at once", async () => {
    const incoming = {
      ...{ connector: "test", userId: "ann", channelId: "ann", messageId: "1", text: "early" },
      delivery: { channel: "test", to: "ann" },
    };
    const { engine, system, hold } = world({ onStart: (host) => host.accept(incoming) });
    await system.load();
    await system.start();
    hold.open("done");
    await engine.settle();
    expect(engine.shown()).toEqual(["done"]);
  });
});

it("holds its lease, renews it and looks at the store at the times that its options say", async () => {
  const { engine, system } = world({ options: { leaseMs: 8_000, pollMs: 3_000 } });
  const times: Record<string, number[]> = { "node.join": [], "node.renew": [], "agents.claim": [] };
  const begun = engine.clock.now();
  let leaseMs = 0;
  engine.onCommit = ({ at, ops }) => {
    for (const op of ops) {
      times[op.op]?.push(at - begun);
      if (op.op === "node.join" || op.op === "node.renew") leaseMs = op.leaseUntil - at;
    }
    return "go";
  };
  await system.load();
  expect([leaseMs, times["node.join"]]).toEqual([8_000, [0]]);
  await system.start();
  await engine.advance(6_000);
  expect(times).toEqual({
    ...{ "node.join": [0], "node.renew": [2_000, 4_000, 6_000], "agents.claim": [0, 3_000, 6_000] },
  });
  expect(leaseMs).toBe(8_000);
  await engine.drain();
});

describe("a drain", () => {
  it("stops every connector first, also if one of them fails, and leaves the store last", async () => {
    const { engine, system, happened } = world({ failsToStop: true });
    await system.load();
    await system.start();
    happened.length = 0;
    const drained = system.drain();
    expect(system.drain()).toBe(drained);
    await engine.settle();
    await drained;
    expect(happened).toEqual(["stop test", "stop other", "node.leave"]);
    expect(engine.logged("warn")).toEqual(["a connector did not stop"]);
  });

  it("of a node that has not started stops no connector; one that has not joined leaves nothing", async () => {
    const loaded = world();
    await loaded.system.load();
    await loaded.engine.drain();
    expect(loaded.happened).toEqual(["node.join", "node.leave"]);
    const fresh = world();
    await fresh.engine.drain();
    expect(fresh.happened).toEqual([]);
  });

  it("is complete also if the node cannot leave the store", async () => {
    const { engine, system } = world();
    await system.load();
    engine.onCommit = ({ ops }) => (ops.some(({ op }) => op === "node.leave") ? "throw" : "go");
    await engine.drain();
    expect(engine.logged("warn")).toEqual(["the node could not leave the store"]);
  });

  it("ends the waits of callers when it is complete, not before", async () => {
    const { engine, system } = world();
    await system.load();
    await system.start();
    const end: { is?: string } = {};
    const waiting = system.postAndAwait({ ...engine.person(), body: { kind: "user", text: "hi" } });
    waiting.catch((error: Error) => {
      end.is = error.message;
    });
    await engine.settle();
    expect(end.is).toBeUndefined();
    await engine.drain();
    await engine.settle();
    expect(end.is).toBe("The process is stopping.");
    expect((await engine.runs())[0]).toMatchObject({ state: "open", body: { paused: true } });
  });
});

it("is settled when no agent works, not before", async () => {
  const { engine, system, hold } = world();
  await system.load();
  await system.start();
  await engine.tell("hi");
  let isSettled = false;
  const settled = system.settled().then(() => {
    isSettled = true;
  });
  await engine.settle();
  expect(isSettled).toBe(false);
  hold.open("done");
  await settled;
  expect(await engine.states()).toEqual(["answered"]);
});

import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { Connector, ConnectorHost } from "../../core/ports/connector.ts";
import { openCluster } from "./cluster.ts";
import { singletonConnector } from "./singleton-connector.ts";

const host = {} as ConnectorHost;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A connector on two nodes that share its lease. */
function world() {
  const clock = virtualClock();
  const held = new Map<string, { node: string; lost: () => void }>();
  const trace: string[] = [];
  const state = {
    ...{ failStart: false, failStop: false, failRelease: false },
    releasing: undefined as Promise<void> | undefined,
  };
  const node = (name: string): Connector => {
    const inner = {
      name: "telegram",
      once: true,
      capabilities: { sendText: true },
      sendingClass: "at-most-once",
      replayHorizonMs: 7,
      async start() {
        trace.push(`${name} starts`);
        await settled();
        if (state.failStart) throw new Error("no network");
      },
      async stop() {
        if (state.failStop) throw new Error("stuck");
        await settled();
        trace.push(`${name} stops`);
      },
      health: () => ({ ok: true, detail: `runs on ${name}` }),
      send: async (delivery: unknown, signal: unknown) => ({ delivery, signal }),
    } as unknown as Connector;
    const leases = {
      tryHold: async (lease: string, lost: () => void) => {
        if (held.has(lease)) return false;
        held.set(lease, { node: name, lost });
        return true;
      },
      release: async (lease: string) => {
        if (held.get(lease)?.node === name) held.delete(lease);
        await state.releasing;
        if (state.failRelease) throw new Error("the connection is gone");
      },
    };
    const log = { debug() {}, info() {}, warn: () => void trace.push(`${name} warns`), error() {} } as never;
    return singletonConnector(inner, { leases, clock, log });
  };
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms, settled);
    for (let turn = 0; turn < 4; turn++) await settled();
  };
  const lose = (): void => {
    const [lease, { lost } = { lost: () => {} }] = [...held][0] ?? [];
    held.delete(lease ?? "");
    lost();
  };
  return { clock, held, trace, state, node, pass, lose };
}

describe("a connector that runs on one node", () => {
  test("leaves no timer when a node that waits for it stops, and does not start there later", async () => {
    const { trace, node, pass, clock } = world();
    const [a, b] = [node("a"), node("b")];
    await a.start(host);
    await b.start(host);
    expect(clock.timers).toBe(1);
    await b.stop();
    expect(clock.timers).toBe(0);
    await a.stop();
    await pass(5_000);
    expect(trace).toEqual(["a starts", "a stops"]);
  });

  test("runs on the first that asks; the other reports it as remote and takes over when the first stops", async () => {
    const { trace, node, pass, held } = world();
    const [a, b] = [node("a"), node("b")];
    await a.start(host);
    await b.start(host);
    expect(trace).toEqual(["a starts"]);
    expect([a.isRemote?.(), b.isRemote?.()]).toEqual([false, true]);
    expect([a.health(), b.health()]).toEqual([
      { ok: true, detail: "runs on a" },
      { ok: true, detail: "runs on another node" },
    ]);
    await pass(5_000);
    expect(trace).toEqual(["a starts"]);
    await a.stop();
    expect([trace.splice(0), held.size]).toEqual([["a starts", "a stops"], 0]);
    await pass(499);
    await pass(1);
    expect(trace).toEqual(["b starts"]);
    expect([a.isRemote?.(), b.isRemote?.()]).toEqual([true, false]);
    await pass(5_000);
    expect(trace).toEqual(["b starts"]);
  });

  test("stops on a node that lost its lease before it starts anywhere again", async () => {
    const { trace, node, pass, lose } = world();
    const a = node("a");
    await a.start(host);
    lose();
    await pass(0);
    await pass(499);
    expect(trace.splice(0)).toEqual(["a starts", "a warns", "a stops"]);
    expect(a.isRemote?.()).toBe(true);
    await pass(1);
    expect(trace).toEqual(["a starts"]);
    expect(a.isRemote?.()).toBe(false);
  });

  test("that cannot stop after it lost its lease tries to run again", async () => {
    const { trace, state, node, pass, lose } = world();
    const a = node("a");
    await a.start(host);
    state.failStop = true;
    lose();
    await pass(0);
    await pass(500);
    expect(trace).toEqual(["a starts", "a warns", "a warns", "a starts"]);
    expect(a.isRemote?.()).toBe(false);
  });

  test("gives its lease back if it cannot start, so that another node can, and tries again", async () => {
    const { trace, state, node, pass, held } = world();
    const a = node("a");
    state.failStart = true;
    await a.start(host);
    expect([trace.splice(0), held.size, a.isRemote?.()]).toEqual([["a starts", "a warns"], 0, true]);
    state.failStart = false;
    await pass(500);
    expect([trace.splice(0), held.size, a.isRemote?.()]).toEqual([["a starts"], 1, false]);
  });

  test("tries again half a second after it gave the lease back, however long that took", async () => {
    const { trace, state, node, pass } = world();
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(state, { failStart: true, releasing: promise });
    const a = node("a");
    const started = a.start(host);
    await pass(10_000);
    resolve();
    await started;
    Object.assign(state, { failStart: false, releasing: undefined });
    trace.length = 0;
    await pass(499);
    expect(trace).toEqual([]);
    await pass(1);
    expect(trace).toEqual(["a starts"]);
  });

  test("tries again also if the lease cannot be given back", async () => {
    const { trace, state, node, pass } = world();
    Object.assign(state, { failStart: true, failRelease: true });
    const a = node("a");
    await a.start(host);
    Object.assign(state, { failStart: false, failRelease: false });
    await pass(500);
    expect(trace).toEqual(["a starts", "a warns", "a starts"]);
  });

  test("that was stopped never starts again: not by its timer, not by a start, not by a lease lost late", async () => {
    const { trace, node, pass, lose, held } = world();
    const [a, b] = [node("a"), node("b")];
    await a.start(host);
    await b.start(host);
    await b.stop();
    await a.stop();
    lose();
    await pass(5_000);
    await a.start(host);
    await pass(5_000);
    expect([trace, held.size]).toEqual([["a starts", "a stops"], 0]);
  });

  test("that was never started is not stopped, and one that cannot stop ends its node's stop all the same", async () => {
    const { trace, state, node } = world();
    await node("a").stop();
    expect(trace).toEqual([]);
    const b = node("b");
    await b.start(host);
    state.failStop = true;
    await b.stop();
    expect(trace).toEqual(["b starts", "b warns"]);
  });

  test("started twice runs once, and sends and describes itself as the connector does", async () => {
    const { trace, node } = world();
    const a = node("a");
    await Promise.all([a.start(host), a.start(host)]);
    expect(trace).toEqual(["a starts"]);
    const signal = new AbortController().signal;
    expect(await a.send("a delivery" as never, signal)).toEqual({ delivery: "a delivery", signal });
    expect([a.name, a.sendingClass, a.replayHorizonMs, a.lookup]).toEqual(["telegram", "at-most-once", 7, undefined]);
  });
});

describe("a cluster", () => {
  const ports = (sent: string[] = []) =>
    ({
      clock: virtualClock(),
      log: { debug() {}, info() {}, warn() {}, error() {} },
      leases: {},
      store: {},
      relay: { maxBytes: 1000, send: (text: string) => void sent.push(text), listen: () => () => {} },
    }) as never;

  test("makes a singleton only of a connector that is marked so", () => {
    const cluster = openCluster(ports());
    const [plain, once] = [{ name: "a" } as Connector, { name: "b", once: true } as Connector];
    expect(cluster.singleton(plain)).toBe(plain);
    expect(cluster.singleton(once).isRemote?.()).toBe(true);
  });

  test("knows no other node before it is connected, and asks them afterwards", () => {
    const sent: string[] = [];
    const cluster = openCluster(ports(sent));
    const { remoteNodes } = cluster;
    for (const stop of [
      remoteNodes.follow("a" as never),
      remoteNodes.awaitEnd("a" as never, () => {}),
      remoteNodes.followTree({ event() {}, changed() {} }),
      remoteNodes.onChanged("tokens", () => {}),
    ])
      stop();
    remoteNodes.notifyChanged("tokens");
    cluster.stop();
    expect(sent).toEqual([]);
    cluster.connect({ events: { listenToOwn: () => () => {} }, tree: {} } as never);
    remoteNodes.followTree({ event() {}, changed() {} })();
    remoteNodes.follow("a" as never)();
    remoteNodes.awaitEnd("b" as never, () => {})();
    remoteNodes.notifyChanged("tokens");
    expect(sent.map((text) => JSON.parse(text.slice(text.indexOf(" "))))).toEqual([
      { hello: true },
      { wantTree: true },
      { wantTree: false },
      { unwant: ["a"] },
      { unwant: ["b"] },
      { changed: "tokens" },
    ]);
    cluster.stop();
  });
});

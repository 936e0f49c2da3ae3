import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { RemoteNodes } from "../../../engine/cluster/relay-events.ts";
import type { RemoteTreeListener } from "../../../engine/cluster/relay-subscriber.ts";
import { RunEvents } from "../../../engine/runtime/run-events.ts";
import type { LiveTree } from "../../../engine/subagents/live-tree.ts";
import { RunEventHub } from "./run-event-hub.ts";
import { TreeEventLog } from "./tree-event-log.ts";

type ChangeListener = Parameters<LiveTree["onChange"]>[0];
const about = { agentId: "a" as AgentId, runId: "r" as RunId, attempt: 1, step: 1 };

function open({ alone = false } = {}) {
  const clock = virtualClock();
  const remoteListeners = new Set<RemoteTreeListener>();
  let follows = 0;
  const remoteNodes = {
    follow: () => () => {},
    followTree(listener: RemoteTreeListener) {
      follows += 1;
      remoteListeners.add(listener);
      return () => remoteListeners.delete(listener);
    },
  } as unknown as RemoteNodes;
  const events = new RunEvents(silentLog);
  const runEvents = new RunEventHub(events, remoteNodes);
  let change: ChangeListener = () => {};
  const tree = {
    onChange: (listener: ChangeListener) => {
      change = listener;
      return () => {};
    },
  };
  const log = new TreeEventLog(runEvents, tree, clock, alone ? undefined : remoteNodes);
  return {
    ...{ clock, remoteListeners, events, log },
    follows: () => follows,
    changed: (...agents: string[]) => change({ agents: agents as AgentId[], all: false }),
  };
}

describe("the tree event log of several nodes", () => {
  it("has events of this node and, while it has subscribers, of other nodes", async () => {
    const { clock, remoteListeners, events, log } = open();
    expect(remoteListeners.size).toBe(0);
    const received: string[] = [];
    const stop = log.subscribe(({ type }) => received.push(type));
    events.emit(about, { type: "start" });
    for (const listener of remoteListeners) listener.event({ ...about, type: "end", seq: 9, outcome: "ok" });
    for (const listener of remoteListeners) listener.changed(["b" as AgentId], false);
    expect(received).toEqual(["start", "end", "changed"]);
    stop();
    await clock.advance(60_000);
    expect([remoteListeners.size, clock.timers]).toEqual([0, 0]);
  });

  it("replays missed events to a reader that returns soon, and none to one that was away longer", async () => {
    const { clock, remoteListeners, log } = open();
    const stop = log.subscribe(() => {});
    const id = log.lastId;
    stop();
    await clock.advance(1_000);
    for (const listener of remoteListeners) listener.event({ ...about, type: "start", seq: 1 });
    expect(log.after(id)?.map(({ type }) => type)).toEqual(["start"]);
    await clock.advance(60_000);
    expect(log.after(id)).toBeUndefined();
  });

  it("follows the other nodes once for all its readers, and goes on for one that returns within half a minute", async () => {
    const { clock, remoteListeners, log, follows } = open();
    const [one, other] = [log.subscribe(() => {}), log.subscribe(() => {})];
    expect([follows(), remoteListeners.size]).toEqual([1, 1]);
    one();
    one();
    await clock.advance(60_000);
    expect(remoteListeners.size).toBe(1);
    other();
    await clock.advance(29_999);
    const third = log.subscribe(() => {});
    await clock.advance(60_000);
    expect([follows(), remoteListeners.size, clock.timers]).toEqual([1, 1, 0]);
    third();
    await clock.advance(29_999);
    expect(remoteListeners.size).toBe(1);
    await clock.advance(1);
    expect([remoteListeners.size, clock.timers]).toEqual([0, 0]);
    log.subscribe(() => {});
    expect([follows(), remoteListeners.size]).toEqual([2, 1]);
  });
});

describe("the tree event log of one node", () => {
  it("has no timer, and keeps ids valid while no one reads", async () => {
    const { clock, events, log, changed } = open({ alone: true });
    log.subscribe(() => {})();
    expect(clock.timers).toBe(0);
    const id = log.lastId;
    events.emit(about, { type: "start" });
    changed("b");
    log.close();
    expect(log.after(id)?.map(({ type, data }) => [type, data])).toEqual([
      ["start", { ...about, type: "start", seq: expect.any(Number), outcome: undefined }],
      ["changed", { type: "changed", agents: ["b"], all: false }],
    ]);
    expect(log.after(log.lastId)).toEqual([]);
  });

  it("has no pieces of text, and no events for a reader that left", () => {
    const { events, log } = open({ alone: true });
    const received: string[] = [];
    const stop = log.subscribe(({ type }) => received.push(type));
    events.emit(about, { type: "delta", stream: "text", text: "x" });
    events.emit(about, { type: "step" });
    stop();
    events.emit(about, { type: "start" });
    expect(received).toEqual(["step"]);
  });

  it("numbers its events, and knows no id of another log, of the future or without a form", () => {
    const { log, changed } = open({ alone: true });
    const [before] = [log.lastId];
    changed("a");
    const [event] = log.after(before) ?? [];
    expect(event && log.idOf(event)).toBe(log.lastId);
    const [name] = log.lastId.split("-");
    const unknown = [undefined, "", name, `${name}-2`, `${name}-1x`, open({ alone: true }).log.lastId];
    expect(unknown.map((id) => log.after(id))).toEqual(unknown.map(() => undefined));
    expect(log.after(`${name}-1`)).toEqual([]);
  });

  it("keeps at least the latest thousand events, and says when some are missing", () => {
    const { log, changed } = open({ alone: true });
    const [name] = log.lastId.split("-");
    for (let n = 0; n < 2_000; n++) changed("a");
    expect(log.after(`${name}-0`)).toHaveLength(2_000);
    changed("a");
    expect(log.after(`${name}-1000`)).toBeUndefined();
    expect(log.after(`${name}-1001`)).toHaveLength(1_000);
  });
});

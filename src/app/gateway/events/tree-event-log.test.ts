import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { RemoteNodes } from "../../../engine/cluster/relay-events.ts";
import type { RemoteTreeListener } from "../../../engine/cluster/relay-subscriber.ts";
import { RunEvents } from "../../../engine/runtime/run-events.ts";
import { RunEventHub } from "./run-event-hub.ts";
import { TreeEventLog } from "./tree-event-log.ts";

const about = { agentId: "a" as AgentId, runId: "r" as RunId, attempt: 1, step: 1 };

function open() {
  const clock = virtualClock();
  const remoteListeners = new Set<RemoteTreeListener>();
  const remoteNodes = {
    follow: () => () => {},
    followTree(listener: RemoteTreeListener) {
      remoteListeners.add(listener);
      return () => remoteListeners.delete(listener);
    },
  } as unknown as RemoteNodes;
  const events = new RunEvents(silentLog);
  const runEvents = new RunEventHub(events, remoteNodes);
  const log = new TreeEventLog(runEvents, { onChange: () => () => {} }, clock, remoteNodes);
  return { clock, remoteListeners, events, log };
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
});

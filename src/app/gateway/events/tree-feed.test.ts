import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import { RunEvents } from "../../../engine/runtime/run-events.ts";
import type { RemoteNodes } from "../../node/relay/relay-events.ts";
import type { TreeListener } from "../../node/relay/relay-subscriber.ts";
import { RunFeed } from "./run-feed.ts";
import { TreeFeed } from "./tree-feed.ts";

const about = { agentId: "a" as AgentId, runId: "r" as RunId, attempt: 1, step: 1 };

function open() {
  const clock = virtualClock();
  const others = new Set<TreeListener>();
  const remoteNodes = {
    follow: () => () => {},
    followTree(listener: TreeListener) {
      others.add(listener);
      return () => others.delete(listener);
    },
  } as unknown as RemoteNodes;
  const events = new RunEvents(silentLog);
  const feed = new RunFeed(events, remoteNodes);
  const tree = new TreeFeed(feed, { onChange: () => () => {} }, clock, remoteNodes);
  return { clock, others, events, tree };
}

describe("what happens to agents as a whole, on several nodes", () => {
  it("comes from here and from the others, and from the others only while somebody follows", async () => {
    const { clock, others, events, tree } = open();
    expect(others.size).toBe(0);
    const heard: string[] = [];
    const stop = tree.follow(({ type }) => heard.push(type));
    events.emit(about, { type: "start" });
    for (const other of others) other.event({ ...about, type: "end", seq: 9, outcome: "ok" });
    for (const other of others) other.changed(["b" as AgentId], false);
    expect(heard).toEqual(["start", "end", "changed"]);
    stop();
    await clock.advance(60_000);
    expect([others.size, clock.timers]).toEqual([0, 0]);
  });

  it("is told to a reader that comes back soon, and read anew by one that was away while nobody listened to the others", async () => {
    const { clock, others, tree } = open();
    const stop = tree.follow(() => {});
    const id = tree.idOf(tree.last);
    stop();
    await clock.advance(1_000);
    for (const other of others) other.event({ ...about, type: "start", seq: 1 });
    expect(tree.after(id)?.map(({ type }) => type)).toEqual(["start"]);
    await clock.advance(60_000);
    expect(tree.after(id)).toBeUndefined();
  });
});

import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import { silentLog } from "../../core/ports/log.ts";
import { type RunEventBody, RunEvents } from "../runtime/run-events.ts";
import type { TreeChange } from "../subagents/live-tree.ts";
import { RelayPublisher } from "./relay-publisher.ts";
import { type RelayMessage, unpack } from "./relay-wire.ts";

const A = "a" as AgentId;
const B = "b" as AgentId;
const LASTS = 30_000;

/** A publisher and what it sends: `to: what`, deltas as their texts. */
function world() {
  const clock = virtualClock();
  const events = new RunEvents(silentLog);
  const sent: string[] = [];
  const messages: RelayMessage[] = [];
  const tree = { listeners: new Set<(change: TreeChange) => void>() };
  const publisher = new RelayPublisher({
    clock,
    events,
    subscriptionMs: LASTS,
    tree: {
      onChange: (listener: (change: TreeChange) => void) => {
        tree.listeners.add(listener);
        return () => tree.listeners.delete(listener);
      },
    } as never,
    send: (message, to) => {
      messages.push(message);
      sent.push(`${to}: ${textOf(message)}`);
    },
  });
  const emit = (body: RunEventBody, about: { agentId?: AgentId; step?: number } = {}): void =>
    events.emit({ agentId: A, runId: `run of ${about.agentId ?? A}` as RunId, attempt: 1, step: 1, ...about }, body);
  const say = (text: string, about: { agentId?: AgentId; step?: number } = {}): void =>
    emit({ type: "delta", stream: "text", text }, about);
  const end = (size = 1, about: { agentId?: AgentId } = {}): void =>
    emit({ type: "end", result: { outcome: "ok", text: "x".repeat(size) } as never }, about);
  const changed = (agents: readonly AgentId[], all = false): void => {
    for (const listener of tree.listeners) listener({ agents, all } as TreeChange);
  };
  return { clock, publisher, emit, say, end, changed, messages, tree, take: () => sent.splice(0) };
}

function textOf(message: RelayMessage): string {
  const show = (events: Iterable<{ type: string; text?: string; seq: number }>): string =>
    [...events].map((event) => (event.type === "delta" ? event.text : event.type)).join(" ");
  if ("tell" in message) return show(unpack(message.tell));
  if ("tail" in message && typeof message.tail === "object")
    return `tail to ${message.tail.last.seq}: ${show(unpack(message.tail.events))}`;
  if ("ended" in message) return `ended ${message.ended.runId}`;
  if ("tree" in message) return `tree ${show(message.tree.events)}|${message.tree.changed}|${message.tree.all}`;
  return JSON.stringify(message);
}

describe("events for subscribers", () => {
  test("go together after a moment, to each process that follows the agent and to no other", () => {
    const { clock, publisher, say, take } = world();
    publisher.subscribe([A], "all", false, "one");
    publisher.subscribe([A], "all", false, "two");
    publisher.subscribe([B], "all", false, "three");
    say("a");
    say("b");
    clock.advanceSync(39);
    expect(take()).toEqual([]);
    clock.advanceSync(1);
    expect(take()).toEqual(["one: a b", "two: a b"]);
    clock.advanceSync(1000);
    expect(take()).toEqual([]);
    say("c");
    clock.advanceSync(40);
    expect(take()).toEqual(["one: c", "two: c"]);
  });

  test("go at once with the end of the run, which takes the rest along", () => {
    const { publisher, say, end, clock, take } = world();
    publisher.subscribe([A], "all", false, "one");
    say("a");
    end();
    expect(take()).toEqual(["one: a end"]);
    clock.advanceSync(1000);
    expect(take()).toEqual([]);
  });

  test("go at once when there is much of them", () => {
    const { publisher, say, take } = world();
    publisher.subscribe([A], "all", false, "one");
    say("x".repeat(255_800));
    expect(take()).toHaveLength(0);
    say("y".repeat(200));
    expect(take()).toHaveLength(1);
  });

  test("are the end alone for a process that waits for ends", () => {
    const { publisher, say, end, clock, take } = world();
    publisher.subscribe([A], "ends", true, "one");
    say("a");
    clock.advanceSync(100);
    end();
    expect(take()).toEqual(["one: ended run of a"]);
  });

  test("stop when the process left, and when it did not renew", () => {
    const { publisher, say, clock, take } = world();
    publisher.subscribe([A, B], "all", false, "left");
    publisher.subscribe([A], "all", false, "silent");
    publisher.unsubscribe([A], "left");
    say("to both", { agentId: B });
    clock.advanceSync(LASTS);
    say("still");
    clock.advanceSync(40);
    expect(take()).toEqual(["left: to both", "silent: still"]);
    say("no more");
    say("no more", { agentId: B });
    clock.advanceSync(40);
    expect(take()).toEqual([]);
    publisher.subscribe([A], "all", false, "silent");
    say("again");
    clock.advanceSync(40);
    expect(take()).toEqual(["silent: again"]);
  });

  test("of an agent that nobody follows any more send nothing early to those who follow another", () => {
    const { publisher, say, end, clock, take } = world();
    publisher.subscribe([A], "all", false, "gone");
    clock.advanceSync(LASTS + 1);
    say("to nobody");
    publisher.subscribe([B], "all", false, "one");
    say("soon", { agentId: B });
    end();
    expect(take()).toEqual([]);
    clock.advanceSync(40);
    expect(take()).toEqual(["one: soon"]);
  });

  test("leave out a result that is too long: the subscriber reads it from the store", () => {
    const { publisher, say, end, take } = world();
    publisher.subscribe([A], "all", false, "one");
    say("a");
    end(32_000);
    expect(take()).toEqual(["one: a", "one: ended run of a"]);
    end(100);
    expect(take()).toEqual(["one: end"]);
    end(40_000);
    expect(take()).toEqual(["one: ended run of a"]);
  });

  test("end when the node stops, also those that waited for their moment", () => {
    const { publisher, say, changed, clock, tree, take } = world();
    publisher.subscribe([A], "all", false, "one");
    publisher.subscribeTree(true, "one");
    say("a");
    changed([A]);
    publisher.stop();
    say("b");
    clock.advanceSync(1000);
    expect(take()).toEqual([]);
    expect(tree.listeners.size).toBe(0);
  });

  test("are kept for ten thousand agents: the one that was renewed longest ago is dropped", () => {
    const { publisher, say, clock, take } = world();
    publisher.subscribe([A, B], "all", false, "one");
    publisher.subscribe([A], "all", false, "one");
    publisher.subscribe(
      Array.from({ length: 9_999 }, (_none, n) => `other ${n}` as AgentId),
      "all",
      false,
      "one",
    );
    say("kept");
    say("dropped", { agentId: B });
    clock.advanceSync(40);
    expect(take()).toEqual(["one: kept"]);
  });
});

describe("the tail of a step", () => {
  test("goes to a new subscriber that asks for it, and nothing in it comes twice", () => {
    const { publisher, emit, say, clock, take } = world();
    publisher.subscribe([A], "all", false, "one");
    emit({ type: "start" });
    say("a");
    publisher.subscribe([A], "all", true, "two");
    expect(take()).toEqual(["one: start a", "two: tail to 2: start a"]);
    say("b");
    clock.advanceSync(40);
    expect(take()).toEqual(["one: b", "two: b"]);
  });

  test("is not sent to a process that waits for ends, renews, or asks about an agent without a run", () => {
    const { publisher, say, end, take } = world();
    say("a");
    publisher.subscribe([A], "ends", true, "one");
    publisher.subscribe([A], "all", false, "two");
    publisher.subscribe([B], "all", true, "three");
    expect(take()).toEqual([]);
    end();
    take();
    publisher.subscribe([A], "all", true, "four");
    expect(take()).toEqual([]);
  });
});

describe("the tree of agents", () => {
  test("is told in outline, with the agents that changed, to those that want it", () => {
    const { publisher, emit, say, end, changed, clock, messages, take } = world();
    publisher.subscribeTree(true, "one");
    emit({ type: "start" });
    say("never told");
    end();
    changed([A, B]);
    changed([A]);
    clock.advanceSync(199);
    expect(take()).toEqual([]);
    clock.advanceSync(1);
    expect(take()).toEqual(["one: tree start end|a,b|false"]);
    const [told] = messages.flatMap((message) => ("tree" in message ? [message.tree] : []));
    expect(told?.events[1]?.outcome).toBe("ok");
    clock.advanceSync(1000);
    expect(take()).toEqual([]);
    changed([], true);
    clock.advanceSync(200);
    expect(take()).toEqual(["one: tree ||true"]);
    // What comes after it is told one by one again.
    changed([B]);
    clock.advanceSync(10_000);
    expect(take()).toEqual(["one: tree |b|false"]);
  });

  test("is not watched without a subscriber: nobody wants it, the last one left, or did not renew", () => {
    const { publisher, emit, changed, clock, tree, take } = world();
    expect(tree.listeners.size).toBe(0);
    emit({ type: "start" });
    publisher.subscribeTree(true, "one");
    publisher.subscribeTree(true, "two");
    publisher.subscribeTree(false, "one");
    expect(tree.listeners.size).toBe(1);
    publisher.subscribeTree(false, "two");
    expect(tree.listeners.size).toBe(0);
    publisher.subscribeTree(true, "silent");
    clock.advanceSync(LASTS - 200);
    changed([A]);
    clock.advanceSync(200);
    expect(take()).toEqual(["silent: tree |a|false"]);
    changed([B]);
    clock.advanceSync(200);
    expect([take(), tree.listeners.size]).toEqual([[], 0]);
  });

  test("is told as a whole when more than a thousand things happened at once", () => {
    const { publisher, emit, changed, clock, messages } = world();
    publisher.subscribeTree(true, "one");
    for (let n = 0; n < 1_000; n++) emit({ type: "step" });
    changed(Array.from({ length: 1_000 }, (_none, n) => `${n}` as AgentId));
    clock.advanceSync(200);
    emit({ type: "step" });
    for (let n = 0; n < 1_000; n++) emit({ type: "step" });
    clock.advanceSync(200);
    changed(Array.from({ length: 1_001 }, (_none, n) => `${n}` as AgentId));
    clock.advanceSync(200);
    const told = messages.flatMap((message) => ("tree" in message ? [message.tree] : []));
    expect(told.map(({ events, changed: agents, all }) => [events.length, agents.length, all])).toEqual([
      [1_000, 1_000, false],
      [1_000, 0, true],
      [0, 0, true],
    ]);
  });
});

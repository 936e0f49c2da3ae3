import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { RunEvent, RunEvents } from "../runtime/run-events.ts";
import { RelaySubscriber, type RemoteTreeListener } from "./relay-subscriber.ts";
import type { EventPosition, PackedEvent, RelayMessage } from "./relay-wire.ts";

const A = "a" as AgentId;
const RENEW = 20_000;

/** A subscriber, what it sends to the other nodes, and what it passes on. */
function world() {
  const clock = virtualClock();
  const sent: string[] = [];
  const passed: string[] = [];
  const state = { ended: new Set<string>(), broken: false, warned: 0 };
  const subscriber = new RelaySubscriber({
    clock,
    renewMs: RENEW,
    send: (message: RelayMessage, to?: string) => void sent.push(JSON.stringify(message) + (to ? ` to ${to}` : "")),
    events: {
      pass: (event: RunEvent) =>
        void passed.push(`${event.type} ${event.runId} ${event.attempt}.${event.step}.${event.seq}`),
    } as unknown as RunEvents,
    store: {
      run: async (id) => {
        if (state.broken) throw new Error("the store is gone");
        if (!state.ended.has(id)) return undefined;
        return { id, agentId: A, outcome: "ok", startedAt: 1, endedAt: 2, sessionId: "s", body: { seqs: [] } } as never;
      },
      linesBack: async () => [],
    },
    log: { debug() {}, info() {}, error() {}, warn: () => void state.warned++ } as never,
  });
  /** An event of a run, by default the next delta of run r in its first step. */
  const event = (seq: number, rest: Partial<RunEvent> = {}): PackedEvent =>
    ({ type: "delta", stream: "text", text: "x", agentId: A, runId: "r", attempt: 1, step: 1, seq, ...rest }) as never;
  const take = (): readonly string[] => passed.splice(0);
  const asked = (): readonly string[] => sent.splice(0);
  return { clock, subscriber, event, take, asked, state, passed, sent };
}
const position = (rest: Partial<EventPosition> = {}): EventPosition => ({
  agentId: A,
  runId: "r" as RunId,
  attempt: 1,
  step: 1,
  seq: 5,
  ...rest,
});
const start = { type: "start" } as const;
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
};
const want = (agents: readonly string[], interest: string, tail: boolean): string =>
  JSON.stringify({ want: agents, interest, tail });

describe("a subscription", () => {
  test("that begins at the same moment as others goes in one message, once for several followers", () => {
    const { clock, subscriber, asked } = world();
    subscriber.follow(A);
    subscriber.follow(A);
    subscriber.follow("b" as AgentId);
    subscriber.awaitEnd("c" as AgentId, () => {});
    expect(asked()).toEqual([]);
    clock.advanceSync(0);
    expect(asked()).toEqual([want(["a", "b"], "all", true), want(["c"], "ends", true)]);
    subscriber.follow(A);
    subscriber.awaitEnd(A, () => {});
    subscriber.awaitEnd("c" as AgentId, () => {});
    clock.advanceSync(0);
    expect(asked()).toEqual([]);
  });

  test("for ends becomes one for everything with the first follower", () => {
    const { clock, subscriber, asked } = world();
    subscriber.awaitEnd(A, () => {});
    clock.advanceSync(0);
    subscriber.follow(A);
    clock.advanceSync(0);
    expect(asked()).toEqual([want(["a"], "ends", true), want(["a"], "all", true)]);
  });

  test("ends when the last listener has left, however often one leaves", () => {
    const { clock, subscriber, asked } = world();
    const first = subscriber.follow(A);
    const second = subscriber.follow(A);
    const third = subscriber.awaitEnd(A, () => {});
    clock.advanceSync(0);
    asked();
    first();
    first();
    expect(asked()).toEqual([]);
    second();
    expect(asked()).toEqual([]);
    third();
    expect(asked()).toEqual([JSON.stringify({ unwant: ["a"] })]);
    third();
    second();
    expect(asked()).toEqual([]);
  });

  test("that ended before its message was sent is not sent", () => {
    const { clock, subscriber, asked } = world();
    subscriber.follow(A)();
    clock.advanceSync(0);
    expect(asked()).toEqual([JSON.stringify({ unwant: ["a"] })]);
  });

  test("of an earlier listener does not end the one of a later one", () => {
    const { clock, subscriber, asked } = world();
    const first = subscriber.awaitEnd(A, () => {});
    first();
    subscriber.follow(A);
    clock.advanceSync(0);
    asked();
    first();
    expect(asked()).toEqual([]);
  });

  test("of one follower ends once: that of another stays, however often the first is ended", () => {
    const { clock, subscriber, asked, take, event } = world();
    const first = subscriber.follow(A);
    subscriber.follow(A);
    clock.advanceSync(0);
    asked();
    first();
    first();
    expect(asked()).toEqual([]);
    subscriber.onEvents([event(1, start)], "1");
    expect(take()).toEqual(["start r 1.1.1"]);
  });

  test("is renewed while someone listens, and no longer, with the tail only if no run is known", () => {
    const { clock, subscriber, event, asked } = world();
    const stop = subscriber.follow(A);
    clock.advanceSync(0);
    asked();
    clock.advanceSync(RENEW - 1);
    expect(asked()).toEqual([]);
    clock.advanceSync(1);
    expect(asked()).toEqual([want(["a"], "all", true)]);
    subscriber.onEvents([event(1, start)], "1");
    clock.advanceSync(RENEW);
    expect(asked()).toEqual([want(["a"], "all", false)]);
    // An event is missing, and so is the answer to the question for the tail.
    subscriber.onEvents([event(3)], "1");
    clock.advanceSync(0);
    expect(asked()).toEqual([want(["a"], "all", true)]);
    clock.advanceSync(RENEW);
    expect(asked()).toEqual([want(["a"], "all", true)]);
    subscriber.onTail(position({ seq: 3 }), [event(1, start), event(2), event(3)], "1");
    clock.advanceSync(RENEW);
    expect(asked()).toEqual([want(["a"], "all", false)]);
    stop();
    asked();
    clock.advanceSync(3 * RENEW);
    expect(asked()).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  test("is sent again to a node that listens again, with the tail; an end that it told no one is read from the store", async () => {
    const { clock, subscriber, event, asked, take, state } = world();
    subscriber.follow(A);
    const unknown = "b" as AgentId;
    subscriber.follow(unknown);
    const changes: unknown[] = [];
    subscriber.followTree({ event: () => {}, changed: (...all) => changes.push(all) });
    clock.advanceSync(0);
    subscriber.onEvents([event(1, start)], "n1");
    asked();
    take();
    state.ended.add("r");
    subscriber.onHello("n2");
    await turns();
    expect(asked()).toEqual(['{"wantTree":true} to n2', `${want(["a", "b"], "all", true)} to n2`]);
    expect(take()).toEqual([]);
    subscriber.onHello("n1");
    await turns();
    expect(asked()).toEqual(['{"wantTree":true} to n1', `${want(["a", "b"], "all", true)} to n1`]);
    expect(take()).toEqual(["end r 1.1.1"]);
    expect(changes).toEqual([
      [[], true],
      [[], true],
    ]);
  });

  test("to many agents goes in batches of 500", () => {
    const { clock, subscriber, sent } = world();
    for (let n = 0; n < 501; n++) subscriber.follow(`a${n}` as AgentId);
    clock.advanceSync(0);
    expect(sent.map((text) => (JSON.parse(text) as { want: unknown[] }).want.length)).toEqual([500, 1]);
  });

  test("to the tree is sent once, renewed, and taken back by the last listener", () => {
    const { clock, subscriber, asked } = world();
    const listener = (): RemoteTreeListener => ({ event: () => {}, changed: () => {} });
    const first = subscriber.followTree(listener());
    const second = subscriber.followTree(listener());
    expect(asked()).toEqual(['{"wantTree":true}']);
    clock.advanceSync(RENEW);
    expect(asked()).toEqual(['{"wantTree":true}']);
    first();
    first();
    expect(asked()).toEqual([]);
    second();
    expect(asked()).toEqual(['{"wantTree":false}']);
    second();
    clock.advanceSync(2 * RENEW);
    expect(asked()).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  test("is over after a stop", () => {
    const { clock, subscriber, event, asked, take } = world();
    subscriber.follow(A);
    subscriber.followTree({ event: () => {}, changed: () => {} });
    asked();
    subscriber.stop();
    expect(clock.timers).toBe(0);
    subscriber.onEvents([event(1, start)], "n1");
    subscriber.onHello("n1");
    expect([asked(), take()]).toEqual([[], []]);
  });
});

describe("events of another node", () => {
  const following = () => {
    const one = world();
    one.subscriber.follow(A);
    one.clock.advanceSync(0);
    one.asked();
    return one;
  };

  test("are passed on in order, and each once", () => {
    const { subscriber, event, take } = following();
    subscriber.onEvents([event(1, start), event(2), event(3)], "n1");
    subscriber.onEvents([event(2), event(3), event(4)], "n1");
    expect(take()).toEqual(["start r 1.1.1", "delta r 1.1.2", "delta r 1.1.3", "delta r 1.1.4"]);
  });

  test("may begin with the first one of a run without a start", () => {
    const { subscriber, event, take } = following();
    subscriber.onEvents([event(1), event(2)], "n1");
    expect(take()).toHaveLength(2);
  });

  test("of agents that no one follows are left alone", () => {
    const { subscriber, event, take } = following();
    subscriber.onEvents([event(1, { ...start, agentId: "z" as AgentId })], "n1");
    expect(take()).toEqual([]);
  });

  test("behind a missing one wait for the tail, which is asked for once", () => {
    const { clock, subscriber, event, take, asked } = following();
    subscriber.onEvents([event(1, start), event(3), event(4)], "n1");
    clock.advanceSync(0);
    expect(take()).toEqual(["start r 1.1.1"]);
    expect(asked()).toEqual([want(["a"], "all", true)]);
    subscriber.onEvents([event(5)], "n1");
    clock.advanceSync(0);
    expect([take(), asked()]).toEqual([[], []]);
    subscriber.onTail(position({ seq: 5 }), [event(2), event(3), event(4), event(5)], "n1");
    expect(take()[0]).toBe("restart r 1.1.1");
    subscriber.onEvents([event(6)], "n1");
    expect(take()).toEqual(["delta r 1.1.6"]);
  });

  test("of the next run are passed on from its first, wherever the run before has come to", () => {
    const { subscriber, event, take } = world();
    subscriber.follow(A);
    subscriber.onEvents([event(1, start), event(2), event(3)], "1");
    take();
    const next = { runId: "s" as RunId };
    subscriber.onEvents([event(1, { ...next, ...start }), event(2, next)], "1");
    expect(take()).toEqual(["start s 1.1.1", "delta s 1.1.2"]);
  });

  test("behind a gap are passed on again from a restart or an end", () => {
    const { subscriber, event, take } = following();
    subscriber.onEvents([event(1, start), event(3)], "n1");
    take();
    subscriber.onEvents([event(4, { type: "restart", attempt: 2 } as never), event(5)], "n1");
    expect(take()).toEqual(["restart r 2.1.4", "delta r 1.1.5"]);
    subscriber.onEvents([event(7), event(8, { type: "end", result: {} } as never)], "n1");
    expect(take()).toEqual(["end r 1.1.8"]);
    subscriber.onEvents([event(1, { runId: "r2" as RunId })], "n1");
    expect(take()).toEqual(["delta r2 1.1.1"]);
  });

  test("of a node that has lost the agent are old", () => {
    const { subscriber, event, take } = following();
    subscriber.onEvents([event(1, start), event(2)], "n1");
    subscriber.onEvents([event(1, { type: "restart", attempt: 2, step: 2 } as never)], "n2");
    take();
    subscriber.onEvents([event(3)], "n1");
    subscriber.onEvents([event(9, { type: "end", result: {} } as never)], "n1");
    expect(take()).toEqual([]);
    subscriber.onEvents([event(2, { attempt: 2, step: 2 })], "n2");
    expect(take()).toEqual(["delta r 2.2.2"]);
    subscriber.onEvents([event(1, { type: "restart", attempt: 3, step: 2 } as never)], "n3");
    expect(take()).toEqual(["restart r 3.2.1"]);
  });

  test("of a compaction between runs are passed on and begin no run", () => {
    const { subscriber, event, take } = following();
    subscriber.onEvents(
      [event(4, { type: "compaction_start" } as never), event(9, { type: "compaction_end" } as never)],
      "n1",
    );
    expect(take()).toEqual(["compaction_start r 1.1.4", "compaction_end r 1.1.9"]);
    subscriber.onEvents([event(1, start), event(2, { type: "compaction_start" } as never)], "n1");
    subscriber.onEvents([event(4, { type: "compaction_end" } as never)], "n1");
    expect(take()).toEqual(["start r 1.1.1", "compaction_start r 1.1.2"]);
  });

  test("that are an end reach who waits for ends, and nothing else does", () => {
    const { clock, subscriber, event, take } = world();
    let ends = 0;
    const leave = subscriber.awaitEnd(A, () => (ends += 1));
    clock.advanceSync(0);
    subscriber.onEvents([event(1, start), event(2), event(3, { type: "end", result: {} } as never)], "n1");
    expect([ends, take()]).toEqual([1, []]);
    leave();
    subscriber.onEvents([event(3, { type: "end", result: {} } as never)], "n1");
    expect(ends).toBe(1);
  });

  test("of a run that was left are not remembered by the next follower", () => {
    const { clock, subscriber, event, take } = world();
    subscriber.awaitEnd(A, () => {});
    const leave = subscriber.follow(A);
    clock.advanceSync(0);
    subscriber.onEvents([event(1, start), event(2)], "n1");
    leave();
    take();
    subscriber.follow(A);
    subscriber.onTail(position({ seq: 2 }), [event(1, start), event(2)], "n1");
    expect(take()).toEqual(["start r 1.1.1", "delta r 1.1.2"]);
  });
});

describe("the tail of a step", () => {
  const following = (seen: readonly number[] = [1, 2]) => {
    const one = world();
    one.subscriber.follow(A);
    one.clock.advanceSync(0);
    one.subscriber.onEvents(
      seen.map((seq) => one.event(seq, seq === 1 ? start : {})),
      "n1",
    );
    one.take();
    return one;
  };

  test("that holds nothing new is left alone", () => {
    const { subscriber, event, take } = following();
    subscriber.onTail(position({ seq: 2 }), [event(1, start), event(2)], "n1");
    subscriber.onTail(position({ seq: 1 }), [event(1, start)], "n1");
    subscriber.onTail(position({ step: 0, seq: 9 }), [event(9)], "n2");
    expect(take()).toEqual([]);
  });

  test("that holds more voids what was seen", () => {
    const { subscriber, event, take } = following();
    subscriber.onTail(position({ seq: 3 }), [event(2), event(3)], "n1");
    expect(take()).toEqual(["restart r 1.1.1", "delta r 1.1.2", "delta r 1.1.3"]);
    subscriber.onEvents([event(3), event(4)], "n1");
    expect(take()).toEqual(["delta r 1.1.4"]);
  });

  test("of another node counts even with lower numbers", () => {
    const { subscriber, event, take } = following();
    subscriber.onTail(position({ seq: 1 }), [event(1)], "n2");
    expect(take()).toEqual(["restart r 1.1.0", "delta r 1.1.1"]);
  });

  test("of a later step begins that step, also without events", () => {
    const { subscriber, take, event } = following();
    subscriber.onTail(position({ step: 2, seq: 7 }), [], "n1");
    expect(take()).toEqual(["step r 1.2.7"]);
    subscriber.onEvents([event(8, { step: 2 })], "n1");
    expect(take()).toEqual(["delta r 1.2.8"]);
  });

  test("of another run passes the end of the known one on first", async () => {
    const { subscriber, event, take, state } = following();
    state.ended.add("r");
    subscriber.onTail(position({ runId: "r2" as RunId, seq: 2 }), [event(1, { runId: "r2" as RunId })], "n1");
    await turns();
    expect(take()).toEqual(["delta r2 1.1.1", "end r 1.1.2"]);
    subscriber.onEvents([event(3, { runId: "r2" as RunId })], "n1");
    expect(take()).toEqual(["delta r2 1.1.3"]);
  });

  test("that was asked for after a gap counts although its numbers are known", () => {
    const { subscriber, event, take } = following();
    subscriber.onEvents([event(4)], "n1");
    subscriber.onTail(position({ seq: 2 }), [event(1, start), event(2)], "n1");
    expect(take()[0]).toBe("restart r 1.1.0");
  });

  test("for someone who waits for ends only is left alone", () => {
    const { clock, subscriber, event, take } = world();
    subscriber.awaitEnd(A, () => {});
    clock.advanceSync(0);
    subscriber.onTail(position(), [event(5)], "n1");
    subscriber.onTail(position({ agentId: "z" as AgentId }), [event(5)], "n1");
    expect(take()).toEqual([]);
  });
});

describe("ends that were missed", () => {
  test("are read from the store and passed on once", async () => {
    const { clock, subscriber, event, take, state } = world();
    subscriber.follow(A);
    clock.advanceSync(0);
    subscriber.onEvents([event(1, start)], "n1");
    take();
    state.ended.add("r");
    subscriber.onGap();
    await turns();
    expect(take()).toEqual(["end r 1.1.1"]);
    subscriber.onGap();
    await turns();
    expect(take()).toEqual([]);
  });

  test("of a run that has not ended are not passed on; behind the gap the tail counts", async () => {
    const { clock, subscriber, event, take, asked } = world();
    let ends = 0;
    subscriber.follow(A);
    subscriber.awaitEnd(A, () => (ends += 1));
    const told: unknown[] = [];
    subscriber.followTree({ event: () => {}, changed: (agents, all) => told.push([agents, all]) });
    clock.advanceSync(0);
    subscriber.onEvents([event(1, start)], "n1");
    asked();
    take();
    subscriber.onGap();
    await turns();
    expect([take(), ends, told]).toEqual([[], 1, [[[], true]]]);
    expect(asked()).toEqual(['{"wantTree":true}', want(["a"], "all", true)]);
    subscriber.onEvents([event(2)], "n1");
    expect(take()).toEqual([]);
  });

  test("need no tail if no run is active", () => {
    const { clock, subscriber, event, take } = world();
    subscriber.follow(A);
    clock.advanceSync(0);
    subscriber.onGap();
    subscriber.onEvents([event(1)], "n1");
    expect(take()).toEqual(["delta r 1.1.1"]);
  });

  test("that a node tells of reach both kinds of listeners", async () => {
    const { clock, subscriber, take, state } = world();
    let ends = 0;
    subscriber.awaitEnd(A, () => (ends += 1));
    clock.advanceSync(0);
    state.ended.add("r");
    subscriber.onEnded(position());
    await turns();
    expect([ends, take()]).toEqual([1, []]);
    subscriber.follow(A);
    subscriber.onEnded(position());
    subscriber.onEnded(position({ agentId: "z" as AgentId }));
    await turns();
    expect([ends, take()]).toEqual([2, ["end r 1.1.5"]]);
  });

  test("are not passed on to someone who has left in between, and an error of the store is only logged", async () => {
    const { clock, subscriber, take, state } = world();
    const leave = subscriber.follow(A);
    clock.advanceSync(0);
    state.ended.add("r");
    subscriber.onEnded(position());
    leave();
    await turns();
    expect(take()).toEqual([]);
    subscriber.follow(A);
    state.broken = true;
    subscriber.onEnded(position());
    await turns();
    expect([take(), state.warned]).toEqual([[], 1]);
  });
});

test("changes of the tree go to its listeners, but not an empty one", () => {
  const { subscriber } = world();
  const told: string[] = [];
  subscriber.followTree({
    event: ({ type }) => told.push(type),
    changed: (agents, all) => told.push(`${agents.length} ${all}`),
  });
  const outline = { type: "start", ...position() } as const;
  subscriber.onTree([outline, { ...outline, type: "end" }], [], false);
  subscriber.onTree([], [A], false);
  subscriber.onTree([], [], true);
  expect(told).toEqual(["start", "end", "1 false", "0 true"]);
});

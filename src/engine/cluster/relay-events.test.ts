import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Relay } from "../../core/ports/cluster.ts";
import { silentLog } from "../../core/ports/log.ts";
import { Tail } from "../runs/tail.ts";
import { RunEvents } from "../runtime/run-events.ts";
import { type EventRelay, notifyChanged, relayEvents } from "./relay-events.ts";

const agentId = "a" as AgentId;
const runId = "r" as RunId;

/** A relay in memory. It delivers in order and drops the texts for which `lose` is true. */
class MemoryRelay {
  readonly #ends = new Map<string, { hear: (text: string, from: string) => void; gap?: () => void }>();
  lose = (_text: string): boolean => false;
  sent = 0;
  /** What the ends have sent, without the numbers of its parts. */
  readonly texts: string[] = [];

  end(name: string): Relay {
    return {
      maxBytes: 7_000,
      send: (text, to) => {
        this.sent += 1;
        this.texts.push(`${name}: ${text.slice(text.indexOf(" ") + 1)}`);
        if (this.lose(text)) return;
        for (const [other, { hear }] of this.#ends) if (other !== name && (!to || to === other)) hear(text, name);
      },
      listen: (hear, gap) => {
        this.#ends.set(name, { hear, gap });
        return () => this.#ends.delete(name);
      },
    };
  }

  cut(name: string): void {
    this.#ends.get(name)?.gap?.();
  }
}

interface End {
  readonly events: RunEvents;
  readonly relay: EventRelay;
  /** The text a client has now, without what a restart voided. */
  readonly text: () => string;
  readonly types: string[];
}

function world() {
  const time = virtualClock();
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const clock = {
    ...time,
    advance: (ms: number) => time.advance(ms, settle),
    get timers() {
      return time.timers;
    },
  };
  const wire = new MemoryRelay();
  const ended = new Set<RunId>();
  const end = (name: string): End => {
    const events = new RunEvents(silentLog);
    const store = {
      run: async (id: RunId) =>
        (ended.has(id) ? { id, agentId, outcome: "ok", startedAt: 0, body: {} } : undefined) as never,
      linesBack: async () => [],
    };
    const relay = relayEvents({
      relay: wire.end(name),
      events,
      tree: { onChange: () => () => {} },
      store,
      clock,
      log: silentLog,
    });
    const types: string[] = [];
    let text = "";
    events.listenToPassed((event) => {
      types.push(event.type);
      if (event.type === "restart") text = "";
      if (event.type === "delta") text += event.text;
    });
    return { events, relay, text: () => text, types };
  };
  return { clock, wire, ended, end };
}

const about = { agentId, runId, attempt: 1, step: 1 };
const say = ({ events }: End, text: string): void => events.emit(about, { type: "delta", stream: "text", text });

/** A follows the agent of a run on B that has said something, but its subscription is lost. */
async function unheard() {
  const { clock, wire, end } = world();
  const [a, b] = [end("a"), end("b")];
  say(b, "one ");
  wire.lose = (text) => text.includes("want");
  a.relay.follow(agentId);
  await clock.advance(1);
  wire.lose = () => false;
  return { clock, wire, a, b };
}

describe("the relay of run events", () => {
  it("delivers events in order, with those of the step that came before the subscription", async () => {
    const { clock, end } = world();
    const [a, b] = [end("a"), end("b")];
    b.events.emit(about, { type: "start" });
    say(b, "one ");
    say(b, "two ");
    a.relay.follow(agentId);
    await clock.advance(1);
    expect(a.text()).toBe("one two ");
    say(b, "three");
    await clock.advance(50);
    expect(a.text()).toBe("one two three");
    expect(a.types).toEqual(["start", "delta", "delta", "delta"]);
  });

  it("sends nothing without a subscriber, and nothing after one has left", async () => {
    const { clock, wire, end } = world();
    const [a, b] = [end("a"), end("b")];
    const before = wire.sent;
    say(b, "x");
    await clock.advance(60_000);
    expect(wire.sent).toBe(before);
    const stop = a.relay.follow(agentId);
    await clock.advance(60_000);
    stop();
    const after = wire.sent;
    say(b, "y");
    await clock.advance(60_000);
    expect(wire.sent).toBe(after);
  });

  it("renews the subscriptions for a node that begins to listen", async () => {
    const { clock, wire, end } = world();
    const a = end("a");
    a.relay.follow(agentId);
    a.relay.followTree({ event() {}, changed() {} });
    await clock.advance(1);
    wire.texts.length = 0;
    end("b");
    expect(wire.texts).toEqual([
      'b: {"hello":true}',
      'a: {"wantTree":true}',
      'a: {"want":["a"],"interest":"all","tail":true}',
    ]);
  });

  it("delivers the step so far to a node whose subscription was lost: after the next renewal", async () => {
    const { clock, a, b } = await unheard();
    await clock.advance(9_000);
    expect(a.text()).toBe("");
    await clock.advance(1_000);
    expect(a.text()).toBe("one ");
    say(b, "two");
    await clock.advance(10_000);
    expect([a.text(), a.types]).toEqual(["one two", ["delta", "delta"]]);
  });

  it("delivers it at once if the node that works is connected again", async () => {
    const { clock, wire, a } = await unheard();
    wire.cut("b");
    await clock.advance(1);
    expect(a.text()).toBe("one ");
    wire.cut("b");
    await clock.advance(1);
    expect([a.text(), a.types]).toEqual(["one ", ["delta"]]);
  });

  it("delivers an end that was lost while the node that works had no connection", async () => {
    const { clock, wire, ended, end } = world();
    const [a, b] = [end("a"), end("b")];
    a.relay.follow(agentId);
    await clock.advance(1);
    b.events.emit(about, { type: "start" });
    await clock.advance(50);
    wire.lose = (text) => text.includes("tell");
    ended.add(runId);
    b.events.emit(about, { type: "end", result: {} as never });
    await clock.advance(50);
    expect(a.types).toEqual(["start"]);
    wire.lose = () => false;
    wire.cut("b");
    await clock.advance(1);
    expect(a.types).toEqual(["start", "end"]);
  });

  it("renews every ten seconds, and a subscription ends thirty seconds after the last renewal", async () => {
    const { clock, wire, end } = world();
    const [a, b] = [end("a"), end("b")];
    a.relay.follow(agentId);
    await clock.advance(1);
    wire.texts.length = 0;
    await clock.advance(9_998);
    expect(wire.texts).toEqual([]);
    await clock.advance(1);
    expect(wire.texts).toHaveLength(1);
    wire.lose = (text) => text.includes("want");
    await clock.advance(30_000);
    say(b, "in time");
    await clock.advance(1_000);
    say(b, "too late");
    await clock.advance(1_000);
    expect(wire.texts.filter((text) => text.includes("tell"))).toHaveLength(1);
  });

  it("of a node that stopped is silent: it renews nothing, and leaves no timer", async () => {
    const { clock, wire, end } = world();
    const [a, b] = [end("a"), end("b")];
    a.relay.follow(agentId);
    a.relay.followTree({ event() {}, changed() {} });
    await clock.advance(1);
    say(b, "x");
    a.relay.stop();
    b.relay.stop();
    expect(clock.timers).toBe(0);
    const { sent } = wire;
    await clock.advance(60_000);
    expect(wire.sent).toBe(sent);
  });

  it("notices a lost event and delivers the step again behind a restart", async () => {
    const { clock, wire, end } = world();
    const [a, b] = [end("a"), end("b")];
    a.relay.follow(agentId);
    await clock.advance(1);
    b.events.emit(about, { type: "start" });
    say(b, "one ");
    await clock.advance(50);
    wire.lose = (text) => text.includes("two");
    say(b, "two ");
    await clock.advance(50);
    wire.lose = () => false;
    say(b, "three ");
    await clock.advance(50);
    expect(a.text()).toBe("one two three ");
    expect(a.types).toContain("restart");
    say(b, "four");
    await clock.advance(50);
    expect(a.text()).toBe("one two three four");
  });

  it("continues with the node that takes over, and reads a lost end from the store", async () => {
    const { clock, wire, ended, end } = world();
    const [a, b, c] = [end("a"), end("b"), end("c")];
    a.relay.follow(agentId);
    await clock.advance(1);
    b.events.emit(about, { type: "start" });
    say(b, "from b");
    await clock.advance(50);
    const taken = { ...about, attempt: 2, step: 2 };
    c.events.emit(taken, { type: "restart", attempt: 2 });
    c.events.emit(taken, { type: "delta", stream: "text", text: "from c" });
    await clock.advance(50);
    say(b, " that must not arrive");
    await clock.advance(50);
    expect(a.text()).toBe("from c");
    ended.add(runId);
    wire.cut("a");
    await clock.advance(50);
    expect(a.types.at(-1)).toBe("end");
  });

  it("sends outlines to a tree listener, and only ends to a listener of ends", async () => {
    const { clock, end } = world();
    const [a, b] = [end("a"), end("b")];
    const outline: string[] = [];
    let ends = 0;
    a.relay.followTree({ event: ({ type }) => outline.push(type), changed: () => {} });
    a.relay.awaitEnd(agentId, () => (ends += 1));
    await clock.advance(1);
    b.events.emit(about, { type: "start" });
    say(b, "x");
    b.events.emit(about, { type: "end", result: { outcome: "ok" } as never });
    await clock.advance(300);
    expect([outline, ends, a.types]).toEqual([["start", "end"], 1, []]);
  });

  it("keeps the sequence numbers, so that a client can resume on another node", async () => {
    const { clock, end } = world();
    const [a, b] = [end("a"), end("b")];
    const tail = new Tail();
    a.events.listenToPassed((event) => tail.add(event));
    a.relay.follow(agentId);
    await clock.advance(1);
    b.events.emit(about, { type: "start" });
    for (const text of ["one ", "two ", "three"]) say(b, text);
    await clock.advance(50);
    const rest = tail.after({ attempt: 1, step: 1, seq: 3 });
    expect(rest?.map((event) => (event.type === "delta" ? event.text : event.type))).toEqual(["three"]);
  });
});

describe("shared state that changed", () => {
  it("is told to those who watch it on other nodes, and to all after a gap; a watcher that left hears nothing", async () => {
    const { wire, end } = world();
    const [a, b] = [end("a"), end("b")];
    const heard: string[] = [];
    const watch = (what: string) => a.relay.onChanged(what as "tokens", () => heard.push(what));
    const stops = [watch("tokens"), watch("tokens"), watch("other")];
    b.relay.notifyChanged("tokens");
    expect(heard.splice(0)).toEqual(["tokens", "tokens"]);
    stops[0]?.();
    wire.cut("a");
    expect(heard.splice(0)).toEqual(["tokens", "other"]);
    for (const stop of stops) stop();
    b.relay.notifyChanged("tokens");
    wire.cut("a");
    expect(heard).toEqual([]);
  });

  it("is told also by a process that only changes it and exits", () => {
    const { wire, end } = world();
    let heard = 0;
    end("a").relay.onChanged("tokens", () => heard++);
    notifyChanged(wire.end("visitor"), "tokens");
    expect(heard).toBe(1);
  });

  it("is told to nobody by a node that stopped, which sends no events any more either", async () => {
    const { clock, wire, end } = world();
    const [a, b] = [end("a"), end("b")];
    a.relay.follow(agentId);
    await clock.advance(1);
    b.relay.stop();
    say(b, "late");
    await clock.advance(1_000);
    expect(a.text()).toBe("");
    let heard = 0;
    b.relay.onChanged("tokens", () => heard++);
    a.relay.notifyChanged("tokens");
    expect([heard, wire.sent > 0]).toEqual([0, true]);
  });
});

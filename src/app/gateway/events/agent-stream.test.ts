import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../../test/kit/engine.ts";
import { configSchema } from "../../../config/config-schema.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { RemoteNodes } from "../../../engine/cluster/relay-events.ts";
import { RunEvents } from "../../../engine/runtime/run-events.ts";
import { OWNER } from "../auth/principal.ts";
import { Metrics } from "../http/metrics.ts";
import { type AgentStreamContext, streamAgent } from "./agent-stream.ts";
import { OpenStreams } from "./open-streams.ts";
import { RunEventHub } from "./run-event-hub.ts";

class FakeResponse extends EventEmitter {
  writableNeedDrain = false;
  writableFinished = false;
  written = "";
  writeHead(): this {
    return this;
  }
  flushHeaders(): void {}
  write(text: string): boolean {
    this.written += text;
    return true;
  }
  end(): void {
    this.writableFinished = true;
    this.emit("close");
  }
  destroy(): void {
    this.emit("close");
  }
}

/** An agent whose runs have ended, and a stream of it over events that the test makes. */
async function open({ shared = false } = {}) {
  const engine = await TestEngine.open({});
  await engine.tell("one");
  await engine.tell("two");
  const agentId = await engine.agentId();
  const runs = await engine.runs();
  const { store, clock } = engine;
  const events = new RunEvents(silentLog);
  const remote = shared ? ({ follow: () => () => {} } as unknown as RemoteNodes) : undefined;
  let live: RunId | undefined;
  const config = configSchema.parse({});
  const context = {
    ...{ ports: { clock, store, log: silentLog }, runEvents: new RunEventHub(events, remote), metrics: new Metrics() },
    ...{
      settings: { current: config },
      limits: { streamBufferBytes: 1_000_000 },
      streams: new OpenStreams(() => ({ streams: 10, streamsPerToken: 10 })),
    },
    tokens: { stillValid: () => true },
    agents: { runs: { live: () => (live === undefined ? undefined : { id: live }) } },
  } as unknown as AgentStreamContext;
  const stream = (options: Partial<Parameters<typeof streamAgent>[1]>) => {
    const response = new FakeResponse();
    const outgoing = response as unknown as ServerResponse;
    streamAgent({ context, principal: OWNER, outgoing }, { agentId, from: 0, ...options });
    return response;
  };
  const about = (runId: string, step = 1) => ({ agentId: agentId as AgentId, runId: runId as RunId, attempt: 1, step });
  const setLive = (id: string | undefined): void => {
    live = id as RunId | undefined;
  };
  return { agentId, store, runs, events, stream, about, context, clock, setLive };
}

/** The events of a stream, as their types and what they are about. */
const eventsIn = ({ written }: FakeResponse) =>
  written
    .split("\n\n")
    .filter((frame) => frame.startsWith("id: "))
    .map((frame) => {
      const [id = "", type = "", data = ""] = frame.split("\n").map((line) => line.replace(/^\w+: /, ""));
      return { id, type, data: JSON.parse(data) as Record<string, unknown> & { entry?: { runId?: string } } };
    });
const typesIn = (response: FakeResponse) => eventsIn(response).map(({ type }) => type);

describe("the stream of one run", () => {
  it("that has ended has its entries only, its end, and is over", async () => {
    const { runs, stream } = await open();
    const [first] = runs;
    const response = stream({ runId: first?.id });
    await expect.poll(() => response.writableFinished).toBe(true);
    const events = eventsIn(response);
    expect(events.at(-1)).toMatchObject({ type: "end", data: { runId: first?.id, outcome: "ok" } });
    const entries = events.slice(0, -1);
    expect(entries.length).toBeGreaterThan(0);
    expect(new Set(entries.map(({ type, data }) => `${type} ${data.entry?.runId}`))).toEqual(
      new Set([`entry ${first?.id}`]),
    );
  });

  it("ends with its own end, and has no event of another run", async () => {
    const { events, stream, about, context } = await open();
    const response = stream({ runId: "run-3" as RunId, from: 1_000 });
    events.emit(about("run-3"), { type: "start" });
    events.emit(about("run-4"), { type: "start" });
    events.emit(about("run-4"), { type: "end", result: { outcome: "ok" } as never });
    events.emit(about("run-3"), { type: "end", result: { outcome: "ok" } as never });
    events.emit(about("run-3"), { type: "start" });
    await expect.poll(() => response.writableFinished).toBe(true);
    expect(eventsIn(response).map(({ type, data }) => [type, data.runId])).toEqual([
      ["start", "run-3"],
      ["end", "run-3"],
    ]);
    expect(context.streams.count).toBe(0);
  });

  it("on another node is asked for in the store every three seconds, and not while this node runs it", async () => {
    const { runs, store, stream, clock, setLive } = await open({ shared: true });
    const [first] = runs;
    const { timers } = clock;
    const asked: string[] = [];
    let state: "open" | "ended" = "open";
    const run = store.run;
    store.run = async (id) => {
      asked.push(id);
      const known = await run(id);
      return known && { ...known, state };
    };
    try {
      const response = stream({ runId: first?.id });
      await expect.poll(() => asked.length).toBe(1);
      setLive(first?.id);
      await clock.advance(3_000);
      expect(asked).toHaveLength(1);
      setLive(undefined);
      await clock.advance(3_000);
      await expect.poll(() => asked.length).toBe(2);
      expect([response.writableFinished, typesIn(response).includes("end")]).toEqual([false, false]);
      state = "ended";
      await clock.advance(2_999);
      expect(response.writableFinished).toBe(false);
      await clock.advance(1);
      await expect.poll(() => response.writableFinished).toBe(true);
      expect(typesIn(response).filter((type) => type === "end")).toHaveLength(1);
      expect(clock.timers).toBe(timers);
    } finally {
      store.run = run;
    }
  });
});

describe("the stream of one agent", () => {
  it("has the entries of all its runs, and stays open when a run ends", async () => {
    const { runs, events, stream, about } = await open();
    const response = stream({});
    events.emit(about("run-3"), { type: "start" });
    events.emit(about("run-3"), { type: "end", result: { outcome: "ok" } as never });
    await expect.poll(() => typesIn(response).at(-1)).toBe("end");
    const seen = new Set(eventsIn(response).map(({ data }) => data.entry?.runId));
    for (const { id } of runs) expect(seen).toContain(id);
    expect(response.writableFinished).toBe(false);
    response.destroy();
  });

  it("continues behind the last entry that a reader has seen, in order and without a gap", async () => {
    const { stream } = await open();
    const whole = stream({});
    await expect.poll(() => eventsIn(whole).length).toBeGreaterThan(3);
    const positions = eventsIn(whole).map(({ data }) => Number(data.position));
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    const [, second = 0] = positions;
    const seen = { runId: "-" as RunId, attempt: 0, step: 0, seq: 0, position: second };
    const rest = stream({ seen });
    await expect.poll(() => eventsIn(rest).length).toBe(positions.length - 2);
    expect(eventsIn(rest).map(({ data }) => data.position)).toEqual(positions.slice(2));
    for (const response of [whole, rest]) response.destroy();
  });

  it("gives a reader that returns within a step the rest of it, and another one the whole step again", async () => {
    const { events, stream, about } = await open();
    events.emit(about("run-3"), { type: "start" });
    events.emit(about("run-3"), { type: "delta", stream: "text", text: "a" });
    events.emit(about("run-3"), { type: "tool_start", callId: "c", name: "read" } as never);
    events.emit(about("run-3"), { type: "delta", stream: "text", text: "b" });
    const first = stream({ from: 1_000 });
    const step3 = ["start", "delta", "tool_start", "delta"];
    await expect.poll(() => typesIn(first)).toEqual(step3);
    const [, , tool] = eventsIn(first);
    const [runId = "", attempt, step, seq] = (tool?.id ?? "").split(".");
    const at = { attempt: Number(attempt), step: Number(step), seq: Number(seq), position: 999 };
    const same = stream({ seen: { ...at, runId: runId as RunId } });
    await expect.poll(() => eventsIn(same).map(({ data }) => data.text)).toEqual(["b"]);
    const other = stream({ seen: { ...at, runId: "run-2" as RunId } });
    await expect.poll(() => typesIn(other)).toEqual(["restart", ...step3]);
    for (const response of [first, same, other]) response.destroy();
  });
});

import { describe, expect, it } from "vitest";
import type { AgentId, RunId } from "../../core/ids.ts";
import { silentLog } from "../../core/ports/log.ts";
import type { RunResult } from "../../core/run/run.ts";
import { type RunEvent, RunEvents } from "./run-events.ts";

const about = (run: string) => ({ agentId: "a" as AgentId, runId: run as RunId, attempt: 1, step: 1 });

describe("run events", () => {
  it("are numbered per run from one without gaps, even while nothing listens", () => {
    const events = new RunEvents(silentLog);
    events.emit(about("r1"), { type: "start" });
    const seen: RunEvent[] = [];
    events.listen((event) => seen.push(event));
    events.emit(about("r1"), { type: "step" });
    events.emit(about("r2"), { type: "start" });
    events.emit(about("r1"), { type: "error", message: "no" });
    expect(seen.map(({ runId, seq }) => `${runId} ${seq}`)).toEqual(["r1 2", "r2 1", "r1 3"]);
  });

  it("reach every listener, even if another one throws", () => {
    const warnings: string[] = [];
    const events = new RunEvents({ ...silentLog, warn: (message) => warnings.push(message) });
    const seen: string[] = [];
    events.listen(() => {
      throw new TypeError("bad");
    });
    events.listen(({ type }) => seen.push(type));
    events.emit(about("r1"), { type: "start" });
    expect(seen).toEqual(["start"]);
    expect(warnings).toHaveLength(1);
  });

  it("reach the listeners that exist when the event is emitted, even if one stops listening during it", () => {
    const events = new RunEvents(silentLog);
    const seen: string[] = [];
    const leave = events.listen(() => {
      leave();
      seen.push("one");
    });
    events.listen(() => seen.push("two"));
    events.emit(about("r1"), { type: "start" });
    events.emit(about("r1"), { type: "step" });
    expect(seen).toEqual(["one", "two", "two"]);
  });
});

it("listenToEnds reports only ends of runs, and deltas are not built for it", () => {
  const events = new RunEvents(silentLog);
  const heard: string[] = [];
  const stop = events.listenToEnds(({ type, runId, seq }) => heard.push(`${type} ${runId} ${seq}`));
  const end = { type: "end", result: {} as RunResult } as const;
  const delta = {
    type: "delta",
    stream: "text",
    get text(): string {
      throw new TypeError("this delta must not be built");
    },
  } as const;
  events.emit(about("r1"), { type: "start" });
  events.emit(about("r1"), delta);
  events.emit(about("r1"), end);
  events.pass({ ...end, ...about("r2"), seq: 9 });
  stop();
  events.emit(about("r3"), end);
  expect(heard).toEqual(["end r1 3", "end r2 9"]);
});

it("tells own events from those of other nodes, and numbers a run from one again after its end", () => {
  const events = new RunEvents(silentLog);
  const heard: string[] = [];
  const hear = (name: string) => (event: RunEvent) => heard.push(`${name} ${event.type} ${event.runId} ${event.seq}`);
  const end = { type: "end", result: {} as RunResult } as const;
  const stop = [events.listenToOwn(hear("own")), events.listenToPassed(hear("passed"))];
  events.emit(about("r1"), { type: "start" });
  events.emit(about("r1"), end);
  events.emit(about("r1"), { type: "start" });
  events.pass({ type: "step", ...about("r2"), seq: 9 });
  expect(heard.splice(0)).toEqual(["own start r1 1", "own end r1 2", "own start r1 1", "passed step r2 9"]);
  for (const one of stop) one();
  const ends = events.listenToEnds(hear("end"));
  events.listen(hear("all"));
  events.emit(about("r1"), { type: "step" });
  events.pass({ type: "step", ...about("r2"), seq: 10 });
  events.pass({ ...end, ...about("r2"), seq: 11 });
  expect(heard).toEqual(["all step r1 2", "all step r2 10", "all end r2 11", "end end r2 11"]);
  ends();
});

import { describe, expect, test } from "vitest";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { RunEvent } from "../runtime/run-events.ts";
import { RunTails } from "./run-tails.ts";
import { Tail } from "./tail.ts";

const A = "a" as AgentId;
const event = (type: string, seq: number, rest: object = {}): RunEvent =>
  ({ type, agentId: A, runId: "r", attempt: 1, step: 1, seq, ...rest }) as RunEvent;
const delta = (text: string, seq: number, rest: object = {}): RunEvent =>
  event("delta", seq, { stream: "text", text, ...rest });
const shown = (events: Iterable<RunEvent>): readonly string[] =>
  [...events].map((one) => `${one.seq} ${one.type === "delta" ? `${one.stream} ${one.text}` : one.type}`);

describe("the tails of runs", () => {
  test("begin with a run's first event and end with the run", () => {
    const tails = new RunTails();
    expect(tails.of(A)).toBeUndefined();
    tails.add(event("start", 1));
    tails.add(delta("x", 2));
    expect(tails.of(A)?.runId).toBe("r");
    expect(shown(tails.of(A)?.tail.events() ?? [])).toEqual(["1 start", "2 text x"]);
    tails.add(event("end", 3));
    expect(tails.of(A)).toBeUndefined();
  });

  test("of another run replace those of the one before", () => {
    const tails = new RunTails();
    tails.add(delta("x", 2));
    tails.add(delta("y", 1, { runId: "second" as RunId }));
    expect([tails.of(A)?.runId, shown(tails.of(A)?.tail.events() ?? [])]).toEqual(["second", ["1 text y"]]);
  });

  test.each(["compaction_start", "compaction_end"])("do not begin with %s, which may come after the end", (type) => {
    const tails = new RunTails();
    tails.add(event(type, 9));
    expect(tails.of(A)).toBeUndefined();
    tails.add(event("start", 1));
    tails.add(event(type, 2));
    expect(shown(tails.of(A)?.tail.events() ?? [])).toEqual(["1 start", `2 ${type}`]);
  });

  test("are forgotten one by one or all together", () => {
    const tails = new RunTails();
    const B = "b" as AgentId;
    for (const agentId of [A, B]) tails.add(event("start", 1, { agentId }));
    tails.forget(A);
    expect([tails.of(A), tails.of(B)?.runId]).toEqual([undefined, "r"]);
    tails.clear();
    expect(tails.of(B)).toBeUndefined();
  });
});

describe("a tail", () => {
  const filled = (): Tail => {
    const tail = new Tail();
    tail.add(event("start", 1));
    for (const [text, seq] of [
      ["a", 2],
      ["b", 3],
    ] as const)
      tail.add(delta(text, seq));
    tail.add(delta("c", 4, { stream: "thinking" }));
    tail.add(delta("d", 5));
    return tail;
  };

  test("joins deltas of one stream that follow each other, and knows each apart", () => {
    expect(shown(filled().events())).toEqual(["1 start", "3 text ab", "4 thinking c", "5 text d"]);
    expect(shown(filled().apart())).toEqual(["1 start", "2 text a", "3 text b", "4 thinking c", "5 text d"]);
    expect(filled().at).toEqual({ attempt: 1, step: 1, seq: 5 });
  });

  test.each([
    [0, ["1 start", "3 text ab", "4 thinking c", "5 text d"]],
    [1, ["3 text ab", "4 thinking c", "5 text d"]],
    [2, ["3 text b", "4 thinking c", "5 text d"]],
    [3, ["4 thinking c", "5 text d"]],
    [5, []],
  ])("continues after number %i", (seq, wanted) => {
    expect(shown(filled().after({ attempt: 1, step: 1, seq }) ?? ["unknown" as never])).toEqual(wanted);
  });

  test("does not know what is missing after a number of another step or attempt", () => {
    expect(filled().after({ attempt: 2, step: 1, seq: 2 })).toBeUndefined();
    expect(filled().after({ attempt: 1, step: 2, seq: 2 })).toBeUndefined();
  });

  test.each([
    ["a committed step", event("step", 6, { step: 2 }), []],
    ["the step's own end", event("step", 6), []],
    ["a restart in the same attempt", event("restart", 6), ["6 restart"]],
    ["a delta of the next attempt", delta("x", 6, { attempt: 2 }), ["6 text x"]],
    ["a delta of the next step", delta("x", 6, { step: 2 }), ["6 text x"]],
  ])("forgets what was before %s", (_what, next, wanted) => {
    const tail = filled();
    tail.add(next);
    expect(shown(tail.events())).toEqual(wanted);
  });
});

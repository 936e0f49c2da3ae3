/** The queue of trials in one process: when it admits suspects, and how long it waits for them. */
import { beforeEach, describe, expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import { type Suspect, Trials } from "./trials.ts";

const LIVED = 10_000;
const COME = 10_000;

let clock = virtualClock();
let trials = new Trials(clock, LIVED);
const woken: string[] = [];
beforeEach(() => {
  clock = virtualClock();
  trials = new Trials(clock, LIVED);
  woken.length = 0;
});
const suspect = (name: string, trial: Partial<RunTrial> = {}): Suspect => ({
  actor: { name },
  trial: { deaths: [], survived: 0, ...trial },
  wake: () => void woken.push(name),
});
const pass = (ms: number): Promise<void> => clock.advance(ms);
/** A run that was alone when its process died is tried alone. */
const ALONE: Partial<RunTrial> = { deaths: [1], of: 1 };

describe("a suspect", () => {
  it("waits until the process has lived long enough, and is then alone on trial", async () => {
    const one = suspect("one", ALONE);
    expect(trials.ask(one)).toBe(LIVED);
    expect(trials.awaits(one.actor)).toBe(true);
    await pass(LIVED - 1);
    expect(trials.ask(one)).toBe(1);
    await pass(1);
    expect(trials.ask(one)).toBeUndefined();
    expect(trials.awaits(one.actor)).toBe(false);
    expect(trials.markOf(7)).toEqual({ node: 7, of: 1, alone: true });
    // Asking again while it is on trial changes nothing.
    expect(trials.ask(one)).toBeUndefined();
  });

  it("waits while another is on trial, and wakes when that one has left", async () => {
    await pass(LIVED);
    const [one, two] = [suspect("one", ALONE), suspect("two", ALONE)];
    expect(trials.ask(one)).toBeUndefined();
    woken.length = 0;
    expect(trials.ask(two)).toBe(COME);
    await pass(COME);
    // The one on trial came: it is waited for, however long it takes.
    expect(trials.ask(two)).toBe(COME);
    trials.leave(one.actor);
    expect(woken).toEqual(["two"]);
    expect(trials.ask(two)).toBeUndefined();
  });

  it("blocks the next trial for at most ten seconds if it does not come", async () => {
    const [one, absent] = [suspect("one"), suspect("absent")];
    expect([trials.ask(one), trials.ask(absent)]).toEqual([LIVED, LIVED]);
    await pass(LIVED);
    expect(trials.ask(one)).toBeUndefined();
    expect(woken).toEqual(["one", "absent"]);
    expect(trials.markOf(1).of).toBe(2);
    trials.leave(one.actor);
    const next = suspect("next", ALONE);
    expect(trials.ask(next)).toBe(COME);
    expect(trials.pause(1)).toBe(false);
    await pass(COME - 1);
    expect(trials.ask(next)).toBe(COME);
    await pass(1);
    expect(trials.ask(next)).toBeUndefined();
  });

  it("is not alone on trial while another has survived one and has made no step since", async () => {
    await pass(LIVED);
    const [one, two] = [suspect("one", ALONE), suspect("two", ALONE)];
    trials.ask(one);
    trials.survived(one.actor);
    expect(trials.ask(two)).toBeUndefined();
    expect(trials.markOf(1)).toEqual({ node: 1, of: 1, alone: false });
    trials.leave(two.actor);
    trials.leave(one.actor);
    trials.ask(two);
    expect(trials.markOf(1)).toEqual({ node: 1, of: 1, alone: true });
  });

  it("survives nothing if it was not on trial", async () => {
    await pass(LIVED);
    const [one, two] = [suspect("one", ALONE), suspect("two", ALONE)];
    trials.survived(one.actor);
    trials.ask(two);
    expect(trials.markOf(1).alone).toBe(true);
  });
});

describe("two suspects in one trial", () => {
  it("have the mark of two, and the next trial begins when both have left", async () => {
    const [one, two, later] = [suspect("one"), suspect("two"), suspect("later", ALONE)];
    trials.ask(one);
    trials.ask(two);
    await pass(LIVED);
    expect([trials.ask(one), trials.ask(two)]).toEqual([undefined, undefined]);
    expect(trials.markOf(1)).toEqual({ node: 1, of: 2, alone: false });
    expect(trials.ask(later)).toBe(COME);
    woken.length = 0;
    trials.leave(one.actor);
    expect([woken, trials.ask(later)]).toEqual([[], COME]);
    trials.leave({ name: "a stranger" });
    expect(woken).toEqual([]);
    trials.leave(two.actor);
    expect(woken).toEqual(["later"]);
  });
});

it("doubles a trial of the same size after each one it lived through", async () => {
  const four = Array.from({ length: 9 }, (_, n) => suspect(`f${n}`, { of: 4 }));
  const two = Array.from({ length: 3 }, (_, n) => suspect(`t${n}`, { of: 2 }));
  for (const one of [...four, ...two]) trials.ask(one);
  await pass(LIVED);
  const sizes: number[] = [];
  for (let left = [...four, ...two]; left.length > 0; ) {
    const members = left.filter((one) => trials.ask(one) === undefined);
    sizes.push(trials.markOf(1).of);
    left = left.filter((one) => !members.includes(one));
    for (const { actor } of members) trials.leave(actor);
  }
  expect(sizes).toEqual([2, 4, 3, 1, 2]);
});

describe("a suspect that asks again when it wakes", () => {
  /** The marks it got, or how long it has to wait. */
  const eager = (name: string, trial: Partial<RunTrial>) => {
    const got: unknown[] = [];
    const one: Suspect = {
      actor: { name },
      trial: { deaths: [], survived: 0, ...trial },
      wake: () => got.push(trials.ask(one) ?? trials.markOf(1)),
    };
    return { one, got };
  };

  it("finds itself admitted", async () => {
    await pass(LIVED);
    const { one, got } = eager("one", ALONE);
    trials.ask(one);
    expect(got).toEqual([{ node: 1, of: 1, alone: true }]);
  });

  it("is not alone after one that survived without a step, and is alone after one that left", async () => {
    await pass(LIVED);
    const first = suspect("first", ALONE);
    const second = eager("second", ALONE);
    trials.ask(first);
    trials.ask(second.one);
    trials.survived(first.actor);
    expect(second.got.at(-1)).toMatchObject({ alone: false });
    trials.leave(second.one.actor);
    trials.ask(first);
    const third = eager("third", ALONE);
    trials.ask(third.one);
    trials.leave(first.actor);
    expect(third.got.at(-1)).toMatchObject({ alone: true });
  });
});

it("forgets a suspect that has left, and all of them when the node holds nothing", async () => {
  const [one, two] = [suspect("one", ALONE), suspect("two", ALONE)];
  trials.ask(one);
  trials.leave(one.actor);
  expect(trials.awaits(one.actor)).toBe(false);
  await pass(LIVED);
  trials.ask(one);
  trials.survived(one.actor);
  trials.clear();
  trials.ask(two);
  expect(trials.markOf(1).alone).toBe(true);
});

it("tries nothing in the first ten seconds of a process by default", () => {
  const trials = new Trials(virtualClock());
  expect(trials.ask({ actor: {}, trial: { deaths: [], survived: 0 }, wake: () => {} })).toBe(10_000);
});

describe("a pause after a death", () => {
  it.each([
    [1, 10_000],
    [2, 120_000],
    [3, 0],
  ])("number %d lasts %d ms", (deaths, ms) => {
    trials.pause(deaths);
    expect(trials.pauseLeft).toBe(ms);
  });

  it("does not wait for a suspect that was admitted and never came", async () => {
    const [one, absent] = [suspect("one"), suspect("absent")];
    trials.ask(one);
    trials.ask(absent);
    await pass(LIVED);
    trials.ask(one);
    trials.leave(one.actor);
    expect(trials.pause(1)).toBe(false);
    await pass(COME);
    expect(trials.pause(1)).toBe(true);
  });

  it("delays the next trial, begins only while nothing is on trial, and never becomes shorter", async () => {
    await pass(LIVED);
    const one = suspect("one", ALONE);
    trials.ask(one);
    expect([trials.pause(1), trials.pauseLeft]).toEqual([false, 0]);
    trials.leave(one.actor);
    expect(trials.pause(2)).toBe(true);
    const long = trials.pauseLeft;
    expect(trials.pause(1)).toBe(true);
    expect(trials.pauseLeft).toBe(long);
    expect(trials.ask(one)).toBe(long);
    await pass(long);
    expect([trials.pauseLeft, trials.ask(one)]).toEqual([0, undefined]);
  });
});

it("ends every trial at a drain", async () => {
  await pass(LIVED);
  const stood: string[] = [];
  const [one, two] = [suspect("one", ALONE), suspect("two", ALONE)];
  trials.onDrain(one.actor, () => stood.push("not on trial"));
  trials.ask(one);
  trials.onDrain(one.actor, () => stood.push("one"));
  trials.ask(two);
  trials.drain();
  expect(stood).toEqual(["one"]);
  trials.clear();
  expect(trials.awaits(two.actor)).toBe(false);
  expect(trials.ask(two)).toBeUndefined();
});

/** What the death of a process says about a run, and when a node counts as dead. Pure, by tables. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import type { NodeRecord } from "../../../core/store/store.ts";
import { judge, type Noted, survived, trialMs } from "./judge-trial.ts";
import { type Fate, NodeFates, SILENT_LEASES } from "./node-fates.ts";
import { groupLimit, planTrial } from "./plan-trial.ts";

const fates = (of: Record<number, Fate>) => (node: number) => of[node] ?? "alive";
const on = (node: number, alone = true, count = 1) => ({ node, of: count, alone });

describe("what is known of a run after a death", () => {
  test.each<[string, RunTrial | undefined, Record<number, Fate>, Noted | undefined, object | undefined]>([
    ["nothing at first", undefined, {}, undefined, { trial: { deaths: [], survived: 0 }, counted: false }],
    ["nothing while its node is silent", { deaths: [], survived: 0, on: on(1) }, { 1: "silent" }, undefined, undefined],
    [
      "a death if it was alone",
      { deaths: [], survived: 1, on: on(1) },
      { 1: "dead" },
      undefined,
      { trial: { deaths: [1], survived: 1, of: 1 }, counted: true },
    ],
    [
      "how many there were if it was not alone",
      { deaths: [], survived: 0, on: on(1, false, 4) },
      { 1: "dead" },
      undefined,
      { trial: { deaths: [], survived: 0, of: 4 }, counted: false },
    ],
    [
      "no death if its node lives or came back",
      { deaths: [], survived: 0, of: 2, on: on(1) },
      { 1: "returned" },
      undefined,
      { trial: { deaths: [], survived: 0, of: 2 }, counted: false },
    ],
    [
      "no earlier death of a node that came back",
      { deaths: [1, 2], survived: 0 },
      { 1: "returned", 2: "dead" },
      undefined,
      { trial: { deaths: [2], survived: 0 }, counted: false },
    ],
    [
      "the last death is struck if the pause died too",
      { deaths: [1, 2], survived: 0, of: 1, pause: 3 },
      { 1: "dead", 2: "dead", 3: "dead" },
      undefined,
      { trial: { deaths: [1], survived: 0, of: 1 }, counted: false },
    ],
    [
      "a suspect as at the beginning, if no death is left",
      { deaths: [1], survived: 0, of: 1, pause: 3 },
      { 1: "dead", 3: "silent" },
      undefined,
      { trial: { deaths: [], survived: 0 }, counted: false },
    ],
    [
      "its pause goes on in the same process",
      { deaths: [1], survived: 0, of: 1, pause: 3 },
      { 1: "dead", 3: "alive" },
      undefined,
      { trial: { deaths: [1], survived: 0, of: 1, pause: 3 }, counted: false },
    ],
    [
      "no pause of a node that came back",
      { deaths: [1], survived: 0, of: 1, pause: 3 },
      { 1: "dead", 3: "returned" },
      undefined,
      { trial: { deaths: [1], survived: 0, of: 1 }, counted: false },
    ],
    [
      "a death that a watchdog noted",
      { deaths: [], survived: 0 },
      {},
      { node: 7, at: 50 },
      { trial: { deaths: [7], survived: 0, note: 50 }, counted: true },
    ],
    [
      "not the same note twice",
      { deaths: [7], survived: 0, note: 50 },
      {},
      { node: 7, at: 50 },
      { trial: { deaths: [7], survived: 0, note: 50 }, counted: false },
    ],
    [
      "a later note of the same node",
      { deaths: [7], survived: 0, note: 50 },
      { 7: "dead" },
      { node: 7, at: 60 },
      { trial: { deaths: [7, 7], survived: 0, note: 60 }, counted: true },
    ],
    [
      "its own death before a note",
      { deaths: [], survived: 0, on: on(1) },
      { 1: "dead" },
      { node: 7, at: 50 },
      { trial: { deaths: [1], survived: 0, of: 1, note: 50 }, counted: true },
    ],
    [
      "a note with a death that was not its own",
      { deaths: [], survived: 0, on: on(1, false, 2) },
      { 1: "dead" },
      { node: 7, at: 50 },
      { trial: { deaths: [7], survived: 0, of: 2, note: 50 }, counted: true },
    ],
    [
      "no pause any more once a death is added",
      { deaths: [], survived: 0, pause: 3 },
      { 3: "alive" },
      { node: 7, at: 50 },
      { trial: { deaths: [7], survived: 0, note: 50 }, counted: true },
    ],
    [
      "an earlier note stays",
      { deaths: [], survived: 0, note: 50 },
      {},
      undefined,
      { trial: { deaths: [], survived: 0, note: 50 }, counted: false },
    ],
  ])("%s", (_title, known, of, noted, expected) => {
    expect(judge(known, fates(of), noted)).toEqual(expected);
  });

  test("a node that fell silent has four leases of time to come back", () => {
    expect(SILENT_LEASES).toBe(4);
  });

  test("each trial that it survives makes the next one six times longer", () => {
    const trial = { deaths: [1], survived: 0, of: 2, on: on(1), pause: 3, note: 5 };
    expect(survived(trial)).toEqual({ deaths: [1], survived: 1, note: 5 });
    expect([0, 1, 2].map((times) => trialMs({ deaths: [], survived: times }))).toEqual([10_000, 60_000, 360_000]);
  });
});

describe("who is tried together", () => {
  const suspect = (name: string, trial: Partial<RunTrial> = {}) => ({
    name,
    trial: { deaths: [], survived: 0, ...trial },
  });
  const names = (suspects: ReturnType<typeof suspect>[], passed?: Parameters<typeof planTrial>[1]) =>
    planTrial(suspects, passed).map(({ name }) => name);
  test.each<[Partial<RunTrial>, number]>([
    [{}, Number.POSITIVE_INFINITY],
    [{ of: 8 }, 4],
    [{ of: 3 }, 1],
    [{ of: 1 }, 1],
    [{ of: 8, deaths: [1] }, 1],
  ])("with %j at most %d", (trial, limit) => {
    expect(groupLimit({ deaths: [], survived: 0, ...trial })).toBe(limit);
  });
  test("all at first, half after a death, one that is suspected alone", () => {
    expect(names([])).toEqual([]);
    expect(names([suspect("a"), suspect("b"), suspect("c")])).toEqual(["a", "b", "c"]);
    const half = ["a", "b", "c", "d"].map((name) => suspect(name, { of: 4 }));
    expect(names(half)).toEqual(["a", "b"]);
    expect(names([suspect("a", { deaths: [1] }), suspect("b", { deaths: [2] })])).toEqual(["a"]);
  });
  test("those that survived less come first, and are not mixed with others", () => {
    expect(names([suspect("a", { survived: 1 }), suspect("b")])).toEqual(["b"]);
    expect(names([suspect("a", { survived: 1 }), suspect("b", { survived: 1 })])).toEqual(["a", "b"]);
  });
  test("the largest groups come first, and a smaller limit ends the group", () => {
    expect(names([suspect("a", { of: 2 }), suspect("b", { of: 8 }), suspect("c", { of: 8 })])).toEqual(["b", "c"]);
    expect(names([suspect("a", { of: 2 }), suspect("b")])).toEqual(["b"]);
  });
  test("a process that lives through a small trial doubles the next one of that size", () => {
    const all = Array.from({ length: 9 }, (_, n) => suspect(`s${n}`, { of: 4 }));
    expect(names(all, { limit: 2, times: 1 })).toHaveLength(4);
    expect(names(all, { limit: 2, times: 2 })).toHaveLength(8);
    expect(names(all, { limit: 3, times: 2 })).toHaveLength(2);
    const alone = [suspect("a", { deaths: [1] }), suspect("b", { deaths: [1] })];
    expect(names(alone, { limit: 1, times: 3 })).toEqual(["a"]);
  });
});

describe("a node", () => {
  const clock = virtualClock();
  let nodes: Partial<NodeRecord>[] = [];
  let reads = 0;
  const store = {
    nodes: async () => {
      reads++;
      return nodes as NodeRecord[];
    },
  };
  const open = () => new NodeFates({ store: store as never, clock }, 1_600);
  test("that is not there, has left or came back", async () => {
    nodes = [{ node: 2, left: true, leaseUntil: 0 } as never, { node: 3, returned: true, left: true } as never];
    const fateOf = await open().read(1);
    expect([1, 2, 3, 4].map(fateOf)).toEqual(["alive", "dead", "returned", "dead"]);
    expect(open().lookMs).toBe(100);
  });
  test("that is silent is dead after its time, and alive as soon as it renews", async () => {
    const watch = open();
    const look = async () => (await watch.read(1))(2);
    nodes = [{ node: 2, leaseUntil: 10 }];
    expect(await look()).toBe("silent");
    await clock.advance(1_599);
    expect(await look()).toBe("silent");
    await clock.advance(1);
    expect(await look()).toBe("dead");
    nodes = [{ node: 2, leaseUntil: 20 }];
    expect(await look()).toBe("alive");
    await clock.advance(1_599);
    expect(await look()).toBe("alive");
    await clock.advance(1);
    expect(await look()).toBe("dead");
  });
  test("is read once for all who ask at the same moment", async () => {
    reads = 0;
    const watch = open();
    await Promise.all([watch.read(1), watch.read(1)]);
    expect(reads).toBe(1);
    await watch.read(1);
    expect(reads).toBe(2);
  });
});

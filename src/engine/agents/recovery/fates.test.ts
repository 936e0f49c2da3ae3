/** Judges what the death of a process says about a run, plans trials, and tells dead nodes from silent ones. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { seededIds } from "../../../../test/kit/ids.ts";
import { memoryStore } from "../../../../test/kit/store.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import type { Op } from "../../../core/store/change.ts";
import { judge, survived, trialMs } from "./judge-trial.ts";
import { type Fate, NodeFates } from "./node-fates.ts";
import { planTrial } from "./plan-trial.ts";

const fates = (of: Record<number, Fate>) => (node: number) => of[node] ?? "alive";
const on = (node: number, alone = true, count = 1) => ({ node, of: count, alone });

describe("judge", () => {
  test.each<[string, RunTrial | undefined, Record<number, Fate>, Parameters<typeof judge>[2], object | undefined]>([
    ["knows nothing at first", undefined, {}, undefined, { trial: { deaths: [], survived: 0 }, counted: false }],
    [
      "decides nothing while its node is silent",
      { deaths: [], survived: 0, on: on(1) },
      { 1: "silent" },
      undefined,
      undefined,
    ],
    [
      "counts a death if it was alone",
      { deaths: [], survived: 1, on: on(1) },
      { 1: "dead" },
      undefined,
      { trial: { deaths: [1], survived: 1, of: 1 }, counted: true },
    ],
    [
      "keeps how many there were if it was not alone",
      { deaths: [], survived: 0, on: on(1, false, 4) },
      { 1: "dead" },
      undefined,
      { trial: { deaths: [], survived: 0, of: 4 }, counted: false },
    ],
    [
      "counts no death of a node that came back",
      { deaths: [], survived: 0, of: 2, on: on(1) },
      { 1: "returned" },
      undefined,
      { trial: { deaths: [], survived: 0, of: 2 }, counted: false },
    ],
    [
      "removes an earlier death of a node that came back",
      { deaths: [1, 2], survived: 0 },
      { 1: "returned", 2: "dead" },
      undefined,
      { trial: { deaths: [2], survived: 0 }, counted: false },
    ],
    [
      "strikes the last death if the pause died too",
      { deaths: [1, 2], survived: 0, of: 1, pause: 3 },
      { 1: "dead", 2: "dead", 3: "dead" },
      undefined,
      { trial: { deaths: [1], survived: 0, of: 1 }, counted: false },
    ],
    [
      "starts from nothing if no death is left",
      { deaths: [1], survived: 0, of: 1, pause: 3 },
      { 1: "dead", 3: "silent" },
      undefined,
      { trial: { deaths: [], survived: 0 }, counted: false },
    ],
    [
      "keeps the pause of a living process",
      { deaths: [1], survived: 0, of: 1, pause: 3 },
      { 1: "dead", 3: "alive" },
      undefined,
      { trial: { deaths: [1], survived: 0, of: 1, pause: 3 }, counted: false },
    ],
    [
      "drops the pause of a node that came back",
      { deaths: [1], survived: 0, of: 1, pause: 3 },
      { 1: "dead", 3: "returned" },
      undefined,
      { trial: { deaths: [1], survived: 0, of: 1 }, counted: false },
    ],
    [
      "counts a death that a watchdog noted",
      { deaths: [], survived: 0 },
      {},
      { node: 7, at: 50 },
      { trial: { deaths: [7], survived: 0, note: 50 }, counted: true },
    ],
    [
      "does not count the same note twice",
      { deaths: [7], survived: 0, note: 50 },
      {},
      { node: 7, at: 50 },
      { trial: { deaths: [7], survived: 0, note: 50 }, counted: false },
    ],
    [
      "counts a later note of the same node",
      { deaths: [7], survived: 0, note: 50 },
      { 7: "dead" },
      { node: 7, at: 60 },
      { trial: { deaths: [7, 7], survived: 0, note: 60 }, counted: true },
    ],
    [
      "counts its own death before a note",
      { deaths: [], survived: 0, on: on(1) },
      { 1: "dead" },
      { node: 7, at: 50 },
      { trial: { deaths: [1], survived: 0, of: 1, note: 50 }, counted: true },
    ],
    [
      "counts a note with a death that was not its own",
      { deaths: [], survived: 0, on: on(1, false, 2) },
      { 1: "dead" },
      { node: 7, at: 50 },
      { trial: { deaths: [7], survived: 0, of: 2, note: 50 }, counted: true },
    ],
    [
      "ends the pause when a death is added",
      { deaths: [], survived: 0, pause: 3 },
      { 3: "alive" },
      { node: 7, at: 50 },
      { trial: { deaths: [7], survived: 0, note: 50 }, counted: true },
    ],
    [
      "keeps an earlier note",
      { deaths: [], survived: 0, note: 50 },
      {},
      undefined,
      { trial: { deaths: [], survived: 0, note: 50 }, counted: false },
    ],
  ])("%s", (_title, known, of, noted, expected) => {
    expect(judge(known, fates(of), noted)).toEqual(expected);
  });

  test("makes the next trial six times longer after each that the run survives", () => {
    const trial = { deaths: [1], survived: 0, of: 2, on: on(1), pause: 3, note: 5 };
    expect(survived(trial)).toEqual({ deaths: [1], survived: 1, note: 5 });
    expect([0, 1, 2].map((times) => trialMs({ deaths: [], survived: times }))).toEqual([10_000, 60_000, 360_000]);
  });
});

describe("planTrial", () => {
  const suspect = (name: string, trial: Partial<RunTrial> = {}, hasWaited = true) => ({
    name,
    hasWaited,
    trial: { deaths: [], survived: 0, ...trial },
  });
  const names = (suspects: ReturnType<typeof suspect>[], quiet = false) =>
    planTrial(suspects, quiet).map(({ name }) => name);
  test.each<[Partial<RunTrial>, number]>([
    [{}, 9],
    [{ of: 8 }, 4],
    [{ of: 3 }, 1],
    [{ of: 1 }, 1],
    [{ of: 8, deaths: [1] }, 1],
  ])("limits a group with %j to %d", (trial, limit) => {
    expect(names(Array.from({ length: 9 }, (_, n) => suspect(`${n}`, trial)))).toHaveLength(limit);
  });
  test("tries half of those it finds, then the others", () => {
    const found = ["a", "b", "c", "d", "e"].map((name) => suspect(name, {}, false));
    expect(names(found)).toEqual(["a", "b", "c"]);
    expect(names(found.slice(3).map((one) => ({ ...one, hasWaited: true })))).toEqual(["d", "e"]);
    expect(names(found.slice(0, 2))).toEqual(["a"]);
    expect(names([suspect("a"), ...found.slice(1)])).toEqual(["a"]);
  });
  test("tries at most half as many after a death, and one that died alone by itself", () => {
    expect(names([])).toEqual([]);
    const half = ["a", "b", "c", "d"].map((name) => suspect(name, { of: 4 }));
    expect(names(half)).toEqual(["a", "b"]);
    expect(names([suspect("a", { deaths: [1] }), suspect("b", { deaths: [2] })])).toEqual(["a"]);
  });
  test("tries one that must be alone first, if nothing else is unproven", () => {
    const found = [suspect("a"), suspect("b", { of: 2 }), suspect("c", { of: 2, survived: 1 })];
    expect(names(found, true)).toEqual(["b"]);
    expect(names(found)).toEqual(["a"]);
  });
  test("tries those that survived less first, and does not mix them with others", () => {
    expect(names([suspect("a", { survived: 1 }), suspect("b")])).toEqual(["b"]);
    expect(names([suspect("a", { survived: 1 }), suspect("b", { survived: 1 })])).toEqual(["a", "b"]);
  });
  test("tries the largest groups first, and ends a group at a smaller limit", () => {
    expect(names([suspect("a", { of: 2 }), suspect("b", { of: 8 }), suspect("c", { of: 8 })])).toEqual(["b", "c"]);
    expect(names([suspect("a", { of: 2 }), suspect("b")])).toEqual(["b"]);
  });
});

describe("NodeFates", () => {
  /** A store with nodes that this process watches as node 1. */
  async function watching() {
    const [store, clock] = [memoryStore(), virtualClock()];
    const ids = seededIds("fates");
    const commit = async (op: Op, at = clock.now()): Promise<number> => {
      const result = await store.commit({ id: ids.change(), site: "test", at, ops: [op] });
      const [one] = result.ok ? result.results : [];
      return one?.op === "node.join" ? one.node : -1;
    };
    const join = (name: string, was?: number) => commit({ op: "node.join", name, leaseUntil: clock.now() + 10, was });
    const self = await join("self");
    const fates = new NodeFates({ store, clock }, 1_600);
    const look = async (node: number) => (await fates.read(self))(node);
    return { commit, join, look, clock, self, fates };
  }

  test("knows this node, nodes that left, nodes that returned, and unknown ones", async () => {
    const { commit, join, look, self, fates } = await watching();
    const [left, lost] = [await join("left"), await join("lost")];
    await commit({ op: "node.leave", node: left });
    await join("back", lost);
    expect(await Promise.all([self, left, lost, 99].map(look))).toEqual(["alive", "dead", "returned", "dead"]);
    expect(fates.lookMs).toBe(100);
  });

  test("takes a silent node for dead after its time, and for alive when it renews", async () => {
    const { commit, join, look, clock } = await watching();
    const node = await join("silent");
    // The node renews by its own clock, which may have been paused.
    const renew = () => commit({ op: "node.renew", node, leaseUntil: clock.now() + 10 }, clock.now() - 1_600);
    expect(await look(node)).toBe("silent");
    await clock.advance(1_599);
    expect(await look(node)).toBe("silent");
    await clock.advance(1);
    expect(await look(node)).toBe("dead");
    await renew();
    expect(await look(node)).toBe("alive");
    await clock.advance(1_599);
    expect(await look(node)).toBe("alive");
    await clock.advance(1);
    expect(await look(node)).toBe("dead");
  });
});

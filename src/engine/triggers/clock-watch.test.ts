/** When a wall clock counts as set back: by more than drift, once, and only if the nodes that live agree. */
import { describe, expect, test } from "vitest";
import { ClockWatch } from "./clock-watch.ts";

const LEASE = 20_000;
const START = 1_000_000;

interface Node {
  readonly node: number;
  readonly leaseUntil: number;
  readonly left?: boolean;
}

function watched(leaseMs?: number) {
  const time = { now: START, monotonic: 0 };
  const nodes: Node[] = [];
  const clock = { now: () => time.now, monotonic: () => time.monotonic };
  const watch = new ClockWatch(clock as never, { nodes: async () => nodes } as never, leaseMs);
  /** Both clocks go on; the wall clock is set by `set` besides. */
  const pass = (ms: number, set = 0): Promise<boolean> => {
    time.monotonic += ms;
    time.now += ms + set;
    return watch.isSetBack();
  };
  return { watch, pass, nodes, time };
}

describe("the clock of a node that is alone", () => {
  test("counts as set back at the start, until that is handled", async () => {
    const { watch, pass } = watched();
    expect([await pass(0), await pass(5_000)]).toEqual([true, true]);
    watch.handled();
    expect([await pass(0), await pass(3_600_000)]).toEqual([false, false]);
  });

  test.each([
    [-1_001, true],
    [-1_000, false],
    [0, false],
    [3_600_000, false],
  ])("that is set by %d ms counts as set back: %s", async (set, expected) => {
    const { watch, pass } = watched();
    await pass(0);
    watch.handled();
    expect(await pass(60_000, set)).toBe(expected);
    // It stays so until it is handled.
    expect(await pass(60_000)).toBe(expected);
    watch.handled();
    expect(await pass(60_000)).toBe(false);
  });

  test("is compared with the last look: small changes are drift, also many of them", async () => {
    const { watch, pass } = watched();
    await pass(0);
    watch.handled();
    for (let n = 0; n < 5; n++) expect(await pass(1_000, -900)).toBe(false);
  });
});

describe("the clock of a node among others", () => {
  test.each<readonly [string, Omit<Node, "node">, boolean]>([
    ["has a lease that this clock allows", { leaseUntil: START + LEASE + 1_000 }, true],
    ["has a lease that ends later", { leaseUntil: START + LEASE + 1_001 }, false],
    ["has left", { leaseUntil: START + 9 * LEASE, left: true }, true],
  ])("counts as set back if another node %s: %s", async (_what, node, expected) => {
    const { pass, nodes } = watched(LEASE);
    nodes.push({ node: 2, ...node });
    expect(await pass(0)).toBe(expected);
  });

  test("waits for a node whose clock is ahead until that has not renewed its lease for the length of one", async () => {
    const { pass, nodes } = watched(LEASE);
    nodes.push({ node: 2, leaseUntil: START + 100 * LEASE });
    expect([await pass(0), await pass(LEASE - 1), await pass(1)]).toEqual([false, false, true]);
    // It lives: it has renewed its lease.
    nodes[0] = { node: 2, leaseUntil: START + 101 * LEASE };
    expect([await pass(0), await pass(LEASE - 1), await pass(1)]).toEqual([false, false, true]);
  });

  test("waits for all of them, and anew for one that had agreed in between", async () => {
    const { pass, nodes } = watched(LEASE);
    const ahead = { node: 2, leaseUntil: START + 100 * LEASE };
    nodes.push(ahead, { node: 3, leaseUntil: START });
    expect(await pass(0)).toBe(false);
    nodes[0] = { node: 2, leaseUntil: START };
    expect(await pass(LEASE / 2)).toBe(true);
    nodes[0] = ahead;
    expect([await pass(LEASE / 2), await pass(LEASE - 1), await pass(1)]).toEqual([false, false, true]);
  });
});

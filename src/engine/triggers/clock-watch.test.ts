/** When a wall clock counts as set back: by more than drift, once, and from which clock the intervals are planned then. */
import { describe, expect, test } from "vitest";
import { ClockWatch, type SetBack } from "./clock-watch.ts";

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
  const look = async (ms: number, set = 0): Promise<SetBack | undefined> => {
    time.monotonic += ms;
    time.now += ms + set;
    return watch.setBack();
  };
  /** The same: how far ahead the intervals are planned from, and now are. */
  const plan = async (ms: number, set = 0): Promise<number | undefined> => {
    const setBack = await look(ms, set);
    if (setBack) watch.planned(setBack);
    return setBack?.aheadMs;
  };
  return { look, plan, nodes };
}

describe("the clock of a node that is alone", () => {
  test("counts as set back at the start, until the intervals are planned", async () => {
    const { look, plan } = watched();
    expect([await look(0), await plan(5_000)]).toEqual([{ aheadMs: 0 }, 0]);
    expect([await plan(0), await plan(3_600_000)]).toEqual([undefined, undefined]);
  });

  test.each([
    [-1_001, 0],
    [-1_000, undefined],
    [0, undefined],
    [3_600_000, undefined],
  ])("counts as set back if it changes by %d ms: %s", async (set, expected) => {
    const { look, plan } = watched();
    await plan(0);
    expect((await look(60_000, set))?.aheadMs).toBe(expected);
    // It stays so until the intervals are planned.
    expect(await plan(60_000)).toBe(expected);
    expect(await plan(60_000)).toBe(undefined);
  });

  test("is compared with the last look: small changes are drift, also many of them", async () => {
    const { plan } = watched();
    await plan(0);
    for (let n = 0; n < 5; n++) expect(await plan(1_000, -900)).toBe(undefined);
  });
});

describe("the clock of a node among others", () => {
  test.each<readonly [string, Omit<Node, "node">, number]>([
    ["has a lease that this clock allows", { leaseUntil: START + LEASE + 1_000 }, 0],
    ["has a lease that ends later", { leaseUntil: START + LEASE + 1_001 }, LEASE + 1_001],
    ["has left", { leaseUntil: START + 9 * LEASE, left: true }, 0],
  ])("plans from the furthest clock if another node %s: %s ms ahead", async (_what, node, expected) => {
    const { plan, nodes } = watched(LEASE);
    nodes.push({ node: 2, ...node });
    expect(await plan(0)).toBe(expected);
  });

  test("plans once while a node is ahead, and from its own clock when that has not renewed its lease for the length of one", async () => {
    const { plan, nodes } = watched(LEASE);
    nodes.push({ node: 2, leaseUntil: START + 100 * LEASE });
    expect(await plan(0)).toBe(100 * LEASE);
    expect([await plan(1), await plan(LEASE - 2)]).toEqual([undefined, undefined]);
    // It lives: it has renewed its lease.
    nodes[0] = { node: 2, leaseUntil: START + 101 * LEASE };
    expect([await plan(0), await plan(LEASE - 1)]).toEqual([undefined, undefined]);
    expect([await plan(1), await plan(1)]).toEqual([0, undefined]);
  });

  test("plans again from the next clock when the furthest is ahead no more, and when it is set back itself", async () => {
    const { plan, nodes } = watched(LEASE);
    const ahead = { node: 2, leaseUntil: START + 100 * LEASE };
    nodes.push(ahead, { node: 3, leaseUntil: START + 50 * LEASE });
    expect([await plan(0), await plan(0)]).toEqual([100 * LEASE, undefined]);
    nodes[0] = { ...ahead, left: true };
    expect([await plan(0), await plan(0)]).toEqual([50 * LEASE, undefined]);
    expect([await plan(0, -2_000), await plan(0)]).toEqual([50 * LEASE + 2_000, undefined]);
    nodes[1] = { node: 3, leaseUntil: START };
    expect([await plan(0), await plan(0)]).toEqual([0, undefined]);
  });
});

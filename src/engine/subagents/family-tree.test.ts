/** Trees of agents and what people see of them: tables over a store made of records. */
import { describe, expect, test } from "vitest";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Op } from "../../core/store/change.ts";
import { type Made, NOW, names, world } from "./agents-by-name.test-kit.ts";
import { readTree } from "./read-tree.ts";
import { stopChildrenOps, stopOps } from "./stop.ts";
import { ancestorsOf, depthOf, descendantsOf, stopOf } from "./tree.ts";

const chain = (length: number): Record<string, Made> =>
  Object.fromEntries(Array.from({ length }, (_, n) => [`c${n}`, n === 0 ? {} : { parent: `c${n - 1}` }]));

describe("which agent started which", () => {
  test("ancestors are the nearest first, as far as they are there, and end in a circle", async () => {
    const { store, record } = world({
      root: {},
      mid: { parent: "root" },
      leaf: { parent: "mid" },
      lost: { parent: "gone" },
    });
    expect(names(await ancestorsOf(store, record("leaf")))).toEqual(["mid", "root"]);
    expect(names(await ancestorsOf(store, record("lost")))).toEqual([]);
    expect([
      await depthOf(store, record("root")),
      await depthOf(store, record("leaf")),
      await depthOf(store, record("lost")),
    ]).toEqual([0, 2, 1]);
    const circle = world({ a: { parent: "b" }, b: { parent: "a" } });
    expect(await ancestorsOf(circle.store, circle.record("a"))).toHaveLength(64);
  });

  test("the stop that holds is its own or the nearest above", async () => {
    const stopped = (reason: string) => ({ more: { stopped: { at: 1, reason } } });
    const { store, record } = world({
      root: stopped("r"),
      mid: { parent: "root" },
      leaf: { parent: "mid" },
      own: { parent: "root", ...stopped("o") },
    });
    expect(await stopOf(store, record("leaf"))).toEqual({ agentId: "root", mark: { at: 1, reason: "r" } });
    expect(await stopOf(store, record("own"))).toMatchObject({ agentId: "own", mark: { reason: "o" } });
    const unread = { agent: () => Promise.reject(new Error("not read")) } as never;
    expect(await stopOf(unread, record("own"))).toMatchObject({ agentId: "own" });
    const free = world({ root: {}, leaf: { parent: "root" } });
    expect(await stopOf(free.store, free.record("leaf"))).toBeUndefined();
  });

  test("descendants are found page by page, and to a depth of 64", async () => {
    const many: Record<string, Made> = { root: {} };
    for (let n = 0; n < 401; n++) many[`k${String(n).padStart(3, "0")}`] = { parent: "root" };
    const { store, asked } = world(many);
    const found: string[] = [];
    for await (const { id } of descendantsOf(store, "root" as AgentId)) found.push(id);
    expect(found).toHaveLength(401);
    expect(asked.filter((one) => (one as { id: string }).id === "root")).toEqual(
      Array(3).fill({ id: "root", limit: 200 }),
    );
    const deep = world(chain(70));
    let count = 0;
    for await (const _one of descendantsOf(deep.store, "c0" as AgentId)) count++;
    expect(count).toBe(64);
  });

  test("parents come before their children", async () => {
    const { store } = world({ r: {}, a: { parent: "r" }, b: { parent: "a" }, c: { parent: "r" } });
    const found: string[] = [];
    for await (const { id } of descendantsOf(store, "r" as AgentId)) found.push(id);
    expect(found).toEqual(["a", "b", "c"]);
  });
});

describe("stopping a tree", () => {
  const kinds = (ops: readonly Op[]) =>
    ops.map((op) =>
      op.op === "message.post"
        ? `post ${(op.to as { agentId: string }).agentId}`
        : op.op === "approval.withdraw"
          ? `withdraw ${(op.of as { agentId: string }).agentId}`
          : op.op,
    );
  test("marks the top, and tells those that are at work", async () => {
    const { store } = world({
      r: { more: { runId: "x" } },
      a: { parent: "r" },
      b: { parent: "a", more: { waiting: 1 } },
    });
    const ops = await stopOps(store, "r" as AgentId, "why", NOW);
    expect(kinds(ops)).toEqual(["agent.stop", "withdraw r", "post r", "withdraw a", "withdraw b", "post b"]);
    expect(ops[0]).toEqual({ op: "agent.stop", agentId: "r", mark: { at: NOW, reason: "why" } });
    expect(kinds(await stopOps(store, "gone" as AgentId, "why", NOW))).toEqual(["agent.stop"]);
  });
  test("of its children stops those that are open", async () => {
    const run = (childAgentId: string | undefined, endedAt?: number) => ({
      requesterSessionKey: "key:r",
      childAgentId,
      endedAt,
    });
    const { store, record } = world({ r: {}, a: { parent: "r" }, b: { parent: "r" } }, [
      run("a"),
      run("b", 5),
      run(undefined),
    ]);
    const { ops, stopped } = await stopChildrenOps(store, record("r"), NOW);
    expect([stopped, kinds(ops)]).toEqual([1, ["agent.stop", "withdraw a"]]);
    const one = world({ r: {}, a: { parent: "r" } }, [run("a")]);
    expect((await stopChildrenOps(one.store, one.record("r"), NOW)).stopped).toBe(1);
    const none = world({ r: {}, b: { parent: "r" } }, [run("b", 5)]);
    expect(await stopChildrenOps(none.store, none.record("r"), NOW)).toEqual({ ops: [], stopped: 0 });
  });
});

describe("the tree that people see", () => {
  const family: Record<string, Made> = {
    root: {
      more: {
        state: { updatedAt: 5, stats: { p: { m: { total: 3 }, n: { total: 4 } } }, label: "Top" },
        lastHumanAt: 7,
      },
    },
    a: { parent: "root", more: { runId: "r1" } },
    aa: { parent: "a", more: { waiting: 2 } },
    b: { parent: "root", more: { stopped: { at: 1, reason: "x" }, runId: "r2" } },
    busy: { more: { runId: "r3", createdAt: 9 } },
  };
  const shape = (nodes: readonly { id: string; children: readonly never[]; more?: boolean }[]): unknown =>
    nodes.map(({ id, children, more }) => [
      id,
      ...(children.length > 0 ? [shape(children)] : []),
      ...(more ? ["…"] : []),
    ]);
  const read = async (options: object = {}) => {
    const tree = await readTree(world(family).store, NOW, options);
    return { ...tree, shape: shape(tree.roots as never) };
  };
  test.each<[string, object, unknown, boolean]>([
    ["whole", {}, [["root", [["a", [["aa"]]], ["b"]]], ["busy"]], false],
    ["below one", { root: "a" }, [["a", [["aa"]]]], false],
    ["to a depth", { depth: 1 }, [["root", [["a", "…"], ["b"]]], ["busy"]], false],
    ["of tops only", { depth: 0 }, [["root", "…"], ["busy"]], false],
    ["within a limit, level by level", { limit: 4 }, [["root", [["a", "…"], ["b"]]], ["busy"]], false],
    ["within less", { limit: 3 }, [["root", [["a", "…"]], "…"], ["busy"]], false],
    ["with more tops than fit", { limit: 1 }, [["root", "…"]], true],
    ["of at least one", { limit: 0 }, [["root", "…"]], true],
    [
      "of those that may be shown",
      { shows: ({ id }: { id: string }) => id !== "a" && id !== "busy" },
      [["root", [["b"]]]],
      false,
    ],
  ])("%s", async (_title, options, expected, more) => {
    const tree = await read(options);
    expect(tree.shape).toEqual(expected);
    expect(tree.more).toBe(more);
    expect(tree.at).toBe(NOW);
  });
  test("says of each what it does and has used", async () => {
    const [root, busy] = (await read()).roots;
    expect(root).toMatchObject({
      name: "Top",
      state: "resting",
      tokens: 7,
      lastActivityAt: 7,
      treeSpent: { tokens: 9 },
      sessionKey: "key:root",
      kind: "user",
    });
    expect(root?.spent).toBeUndefined();
    expect(root?.waitsFor).toBeUndefined();
    expect(root?.children.map(({ id, state, name }) => [id, state, name])).toEqual([
      ["a", "running", "the a (task of Top)"],
      ["b", "stopped", "the b (task of Top)"],
    ]);
    expect(root?.children[0]?.children[0]).toMatchObject({ state: "waiting", waiting: 2 });
    expect(busy).toMatchObject({ waitsFor: [{ id: "x" }], runId: "r3", lastActivityAt: 9 });
  });
  test("of one person is found behind the agents of many others, up to a limit", async () => {
    const among = async (others: number, limit: number) => {
      const all: Record<string, Made> = {};
      for (let n = 0; n < others; n++) all[`other${n}`] = {};
      for (const name of ["own1", "own2", "own3"]) all[name] = {};
      all.kid = { parent: "own1" };
      const { store, asked } = world(all);
      const shows = ({ id }: AgentRecord): boolean => id.startsWith("own") || id === "kid";
      const tree = await readTree(store, NOW, { limit, shows });
      const pages = asked.filter((one) => "roots" in one).length;
      return [shape(tree.roots as never), tree.more, pages];
    };
    expect(await among(300, 200)).toEqual([[["own1", [["kid"]]], ["own2"], ["own3"]], false, 1]);
    expect(await among(1_000, 2)).toEqual([[["own1", "…"], ["own2"]], true, 3]);
    expect(await among(499, 3)).toEqual([[["own1", "…"], ["own2"], ["own3"]], false, 2]);
    expect(await among(10_000, 5)).toEqual([[], false, 20]);
  });
  test("without a choice reads no more than it shows", async () => {
    const { store, asked } = world(family);
    await readTree(store, NOW, { limit: 4 });
    expect(asked).toEqual([
      { roots: 5 },
      { id: "root", limit: 3 },
      { id: "busy", limit: 1 },
      { id: "a", limit: 1 },
      { id: "b", limit: 1 },
    ]);
  });
  test("below no one is an error", async () => {
    await expect(read({ root: "gone" })).rejects.toThrow("There is no agent gone");
  });
});

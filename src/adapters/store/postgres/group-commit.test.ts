/** Which changes share a transaction, which wait, and in which order they are applied. */
import { describe, expect, test, vi } from "vitest";
import { StoreClosedError } from "../../../core/errors.ts";
import type { AgentId, ChangeId } from "../../../core/ids.ts";
import type { Change, Op } from "../../../core/store/change.ts";
import { GroupCommit } from "./group-commit.ts";

let count = 0;
const change = (op: Op, owner?: string): Change => ({
  id: `c${count++}` as ChangeId,
  site: "test",
  at: 0,
  owner: owner === undefined ? undefined : { agentId: owner as AgentId, node: 1, epoch: 1 },
  ops: [op],
});
/** A change of one fact, and one of an agent: not batchable. */
const fact = (key: string): Change => change({ op: "fact.put", key, value: key });
const touch = (agentId: string): Change => change({ op: "agent.hand", to: 2 } as never, agentId);
const barrier = (): Change => change({ op: "prune", before: 1, limit: 1 } as never);
const ran = (jobId: string): Change =>
  change({ op: "job.ran", jobId, slot: "s", end: { at: 1, status: "ok" } } as never);

/** A database that applies a group when it is told to; groups are named by what is in them. */
function world(options: { maxBatch?: number; lanes?: number } = {}) {
  const groups: { names: string; batchable: boolean; end: (results?: readonly unknown[]) => void }[] = [];
  const names = new Map<string, string>();
  const done: string[] = [];
  const commits = new GroupCommit({
    maxBatch: 100,
    lanes: 2,
    ...options,
    apply: (changes, batchable) =>
      new Promise((resolve) =>
        groups.push({
          names: changes.map(({ id }) => names.get(id)).join(" "),
          batchable,
          end: (results) => resolve((results ?? changes.map(() => ({ ok: true, results: [] }))) as never),
        }),
      ),
  });
  const commit = (name: string, one: Change): Promise<unknown> => {
    names.set(one.id, name);
    return commits.commit(one).then(
      (result) => done.push(name) && result,
      (error) => done.push(`${name} failed`) && error,
    );
  };
  const running = (): readonly string[] => groups.map((group) => group.names);
  return { commits, commit, groups, running, done };
}
const turn = async (): Promise<void> => {
  for (let n = 0; n < 4; n++) await new Promise((resolve) => setImmediate(resolve));
};
/** Also those that wait a millisecond for more. */
const later = async (): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  await turn();
};

describe("changes that come together", () => {
  test("share a group, and those of other kinds have their own beside it", async () => {
    const { commit, groups, running, done } = world();
    void commit("a", fact("a"));
    void commit("x", touch("x"));
    void commit("b", fact("b"));
    void commit("y", touch("y"));
    expect(running()).toEqual([]);
    await turn();
    expect(running()).toEqual(["a b", "x y"]);
    expect(groups.map(({ batchable }) => batchable)).toEqual([true, false]);
    groups[1]?.end();
    await turn();
    expect(done).toEqual(["x", "y"]);
    groups[0]?.end();
    await turn();
    expect(done).toEqual(["x", "y", "a", "b"]);
  });

  test("are at most so many per group and so many groups at once; the rest follows", async () => {
    const { commit, groups, running } = world({ maxBatch: 2, lanes: 2 });
    for (const name of ["a", "b", "c", "d", "e"]) void commit(name, fact(name));
    await turn();
    expect(running()).toEqual(["a b", "c d"]);
    groups[0]?.end();
    await later();
    expect(running()).toEqual(["a b", "c d", "e"]);
  });

  test("that were computed from rows go alone", async () => {
    const { commit, running } = world({ lanes: 4 });
    void commit("x", touch("x"));
    void commit("job", ran("j"));
    void commit("y", touch("y"));
    await turn();
    expect(running()).toEqual(["x y", "job"]);
  });

  test("go alone also if they come first, or have other ops too, or report what was delivered", async () => {
    const delivered = change({ op: "job.delivered", jobId: "d", slot: "s", delivery: { status: "none" } } as never);
    const mixed = { ...ran("m"), ops: [...fact("f").ops, ...ran("m").ops] };
    const { commit, running } = world({ lanes: 9 });
    void commit("job", ran("j"));
    void commit("x", touch("x"));
    void commit("delivered", delivered);
    void commit("y", touch("y"));
    void commit("mixed", mixed);
    await turn();
    expect(running()).toEqual(["job", "x y", "delivered", "mixed"]);
  });

  test("are a batch if they are everyday changes, also a single one", async () => {
    const { commit, groups } = world();
    void commit("a", fact("a"));
    void commit("x", touch("x"));
    await turn();
    expect(groups.map(({ names, batchable }) => [names, batchable])).toEqual([
      ["a", true],
      ["x", false],
    ]);
  });
});

describe("changes of the same row", () => {
  test("are applied in their order, one group after the other, and others pass them by", async () => {
    const { commit, groups, running } = world({ lanes: 3 });
    void commit("first", touch("x"));
    await turn();
    void commit("second", touch("x"));
    void commit("third", touch("x"));
    void commit("other", touch("y"));
    await turn();
    expect(running()).toEqual(["first", "other"]);
    groups[0]?.end();
    await later();
    expect(running().slice(2)).toEqual(["second third"]);
  });

  test("do not overtake one that waits for another row too", async () => {
    const { commit, groups, running } = world({ lanes: 4 });
    const both: Change = {
      ...touch("x"),
      ops: [{ op: "fact.put", key: "k", value: "v" }, { op: "agent.hand", to: 2 } as never],
    };
    void commit("x", touch("x"));
    await turn();
    void commit("x and k", both);
    void commit("k", fact("k"));
    await turn();
    expect(running()).toEqual(["x"]);
    groups[0]?.end();
    await turn();
    expect(running()).toEqual(["x", "x and k"]);
    groups[1]?.end();
    await turn();
    expect(running()).toEqual(["x", "x and k", "k"]);
  });

  test("a row that two changes of a group hold is free when the group has ended", async () => {
    const { commit, groups, running } = world();
    void commit("one", touch("x"));
    void commit("two", touch("x"));
    await turn();
    expect(running()).toEqual(["one two"]);
    groups[0]?.end();
    await turn();
    void commit("three", touch("x"));
    await later();
    expect(running()).toEqual(["one two", "three"]);
  });
});

describe("a change that concerns all agents", () => {
  test("waits for everything before it, and everything after it waits for it", async () => {
    const { commit, groups, running } = world({ lanes: 4 });
    void commit("before", touch("x"));
    await turn();
    void commit("all", barrier());
    void commit("after", fact("y"));
    await turn();
    expect(running()).toEqual(["before"]);
    groups[0]?.end();
    await turn();
    expect(running()).toEqual(["before", "all"]);
    groups[1]?.end();
    await turn();
    expect(running()).toEqual(["before", "all", "after"]);
  });

  test("concerns them with one op of several, and goes with what comes after it in the same search", async () => {
    const { commit, groups, running } = world({ lanes: 4 });
    const mixed = { ...barrier(), ops: [...fact("k").ops, ...barrier().ops] };
    void commit("before", touch("x"));
    await turn();
    void commit("all", mixed);
    void commit("y", touch("y"));
    await turn();
    expect(running()).toEqual(["before"]);
    groups[0]?.end();
    await later();
    expect(running()).toEqual(["before", "all y"]);
  });

  test("does not overtake one that goes in another kind of group", async () => {
    const { commit, running } = world({ lanes: 4 });
    void commit("x", touch("x"));
    void commit("k", fact("k"));
    void commit("all", barrier());
    await turn();
    expect(running()).toEqual(["x", "k"]);
  });

  test("waits for one that was skipped before it in the same search", async () => {
    const { commit, groups, running } = world({ lanes: 4 });
    void commit("k", fact("k"));
    await turn();
    void commit("k again", fact("k"));
    void commit("all", barrier());
    await turn();
    expect(running()).toEqual(["k"]);
    groups[0]?.end();
    await later();
    expect(running()).toEqual(["k", "k again"]);
    groups[1]?.end();
    await later();
    expect(running()).toEqual(["k", "k again", "all"]);
  });
});

describe("a result", () => {
  test("is that of its change: one that fails does not fail its group", async () => {
    const { commit, groups, done } = world();
    const [a, b, c] = [commit("a", fact("a")), commit("b", fact("b")), commit("c", fact("c"))];
    await turn();
    groups[0]?.end([{ ok: true, results: [] }, new Error("gone"), { ok: false, refused: "conflict" }]);
    expect(await Promise.all([a, b, c])).toMatchObject([{ ok: true }, { message: "gone" }, { refused: "conflict" }]);
    expect(done).toEqual(["a", "b failed", "c"]);
  });

  test("that is missing is a failure", async () => {
    const { commit, groups, done } = world();
    void commit("a", fact("a"));
    await turn();
    groups[0]?.end([]);
    await turn();
    expect(done).toEqual(["a failed"]);
  });
});

describe("after a group of four or more", () => {
  test("the next one gathers for a moment, then goes with what came in between", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      const { commit, running } = world({ maxBatch: 4, lanes: 4 });
      for (const name of ["a", "b", "c", "d"]) void commit(name, fact(name));
      await turn();
      expect(running()).toEqual(["a b c d"]);
      void commit("e", fact("e"));
      await turn();
      void commit("f", fact("f"));
      await vi.advanceTimersByTimeAsync(1);
      await turn();
      expect(running()).toEqual(["a b c d", "e f"]);
      void commit("g", fact("g"));
      await turn();
      expect(running()).toEqual(["a b c d", "e f", "g"]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("the next one gathers for a millisecond, and one that is full does not wait", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      const { commit, groups, running } = world({ maxBatch: 4, lanes: 1 });
      for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) void commit(name, fact(name));
      await turn();
      groups[0]?.end();
      await turn();
      expect(running()).toEqual(["a b c d", "e f g h"]);
      groups[1]?.end();
      await turn();
      void commit("i", fact("i"));
      await turn();
      expect(running()).toHaveLength(2);
      await vi.advanceTimersByTimeAsync(1);
      await turn();
      expect(running().slice(2)).toEqual(["i"]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("after a group of three", () => {
  test("the next one does not wait, nor after a larger one that came before it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      const { commit, running } = world({ lanes: 9 });
      const together = async (...names: readonly string[]): Promise<void> => {
        for (const name of names) void commit(name, fact(name));
        await turn();
      };
      await together("a", "b", "c");
      await together("d", "e", "f", "g");
      expect(running()).toEqual(["a b c", "d e f g"]);
      await together("h");
      expect(running()).toHaveLength(2);
      await vi.advanceTimersByTimeAsync(1);
      await turn();
      await together("i");
      expect(running().slice(2)).toEqual(["h", "i"]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a group that gathers", () => {
  test("waits for its whole millisecond, also if it fills; with what waits for a row it may be full at once", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      const { commit, running } = world({ maxBatch: 4, lanes: 4 });
      const together = async (...names: readonly string[]): Promise<void> => {
        for (const name of names) void commit(name, fact(name[0] ?? ""));
        await turn();
      };
      await together("a", "b", "c", "d");
      await together("e", "f", "g", "h");
      expect(running()).toEqual(["a b c d"]);
      await vi.advanceTimersByTimeAsync(1);
      await turn();
      await together("a2", "b2", "c2");
      await vi.advanceTimersByTimeAsync(1);
      await turn();
      expect(running()).toEqual(["a b c d", "e f g h"]);
      await together("i");
      expect(running().slice(2)).toEqual(["i"]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a long queue", () => {
  test("is searched to a bound for changes that can go, and goes in its order when its row is free", async () => {
    const { commit, groups, running } = world({ lanes: 3, maxBatch: 2_000 });
    void commit("first", touch("x"));
    await turn();
    for (let n = 1; n <= 1_023; n++) void commit(`${n}`, touch("x"));
    void commit("near", touch("y"));
    void commit("last", touch("x"));
    void commit("far", touch("z"));
    await later();
    expect(running()).toEqual(["first", "near"]);
    groups[0]?.end();
    await later();
    expect(running()[2]?.split(" ")).toEqual([...Array.from({ length: 1_023 }, (_none, n) => `${n + 1}`), "last"]);
    expect(running()[3]).toBe("far");
  });
});

describe("a close", () => {
  test("commits what is queued and refuses what comes later", async () => {
    const { commits, commit, groups, running, done } = world({ maxBatch: 1, lanes: 1 });
    void commit("a", fact("a"));
    void commit("b", fact("b"));
    let closed = false;
    const closing = commits.close().then(() => {
      closed = true;
    });
    expect(await commit("late", fact("late"))).toBeInstanceOf(StoreClosedError);
    await turn();
    expect(running()).toEqual(["a"]);
    groups[0]?.end();
    await later();
    expect([running(), closed]).toEqual([["a", "b"], false]);
    groups[1]?.end();
    await closing;
    expect(done).toEqual(["late failed", "a", "b"]);
  });

  test("waits for every group in progress", async () => {
    const { commits, commit, groups } = world();
    void commit("a", fact("a"));
    void commit("x", touch("x"));
    await turn();
    let closed = false;
    const closing = commits.close().then(() => {
      closed = true;
    });
    groups[0]?.end();
    await later();
    expect(closed).toBe(false);
    groups[1]?.end();
    await closing;
  });

  test("of an idle one ends at once", async () => {
    await world().commits.close();
  });
});

/** Stopping, starting and removing agents: what each commits, whom it tells, and when it gives up. No engine. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Change, Op } from "../../core/store/change.ts";
import { Lifecycle } from "./lifecycle.ts";

const AGENT = "a1" as AgentId;
const ALSO = { op: "fact.put", key: "k", value: "v" } as const;
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
};

function world(
  given: {
    record?: object | null;
    refusals?: Record<string, number>;
    swarm?: object;
    contacts?: readonly string[];
  } = {},
) {
  const commits: Change[] = [];
  const told: unknown[] = [];
  const clock = virtualClock();
  const { refusals = {} } = given;
  const record =
    given.record === null
      ? undefined
      : { id: AGENT, sessionKey: "key", descriptor: { type: "user" }, waiting: 0, ...given.record };
  const store = {
    agent: async (id: AgentId) => (id === AGENT ? record : undefined),
    children: async () => [],
    swarm: async () => given.swarm,
    swarmContacts: async (_name: string, { limit }: { limit: number }) =>
      limit === 100_000 ? (given.contacts ?? []).map((contact) => ({ contact })) : [],
    agentByKey: async (key: string) => ({
      id: `of ${key}`,
      stopped: key.includes("leaving") ? { removing: true } : key.includes("gone") ? { removed: true } : undefined,
    }),
    commit: async (change: Change) => {
      await new Promise((resolve) => setImmediate(resolve));
      commits.push(change);
      const isRefused = commits.filter(({ site }) => site === change.site).length <= (refusals[change.site] ?? 0);
      const posted = change.ops.map(({ op }) => (op === "message.post" ? { op, agentId: AGENT, seq: 1 } : undefined));
      return isRefused ? { ok: false, refused: "missing", detail: "not now" } : { ok: true, results: posted };
    },
    outcome: async () => undefined,
  };
  const lifecycle = new Lifecycle({ store, clock, ids: seededIds("lifecycle") } as never, {
    ...{ ingress: { forget: (key: string) => void told.push(`forget ${key}`) } as never, people: {} as never },
    ...{ emit: (event) => void told.push(event.type), claimFor: () => 3 },
  });
  const ops = (): readonly Op[] => commits.flatMap((change) => change.ops);
  return { lifecycle, commits, told, clock, ops, sites: () => commits.map(({ site }) => site) };
}

describe("a stop", () => {
  it("marks the agent with its reason, takes its questions back, and wakes it", async () => {
    const { lifecycle, ops, sites, told } = world();
    await lifecycle.stop(AGENT);
    expect([sites(), told]).toEqual([["agent.stop"], ops().some(({ op }) => op === "message.post") ? ["posted"] : []]);
    expect(ops()[0]).toMatchObject({ op: "agent.stop", agentId: AGENT, mark: { reason: "stopped by a person" } });
  });

  it("has another reason and other changes with it", async () => {
    const { lifecycle, ops } = world();
    await lifecycle.stop(AGENT, "enough", [ALSO]);
    expect(ops()[0]).toMatchObject({ mark: { reason: "enough" } });
    expect(ops().at(-1)).toEqual(ALSO);
  });

  it("is taken back", async () => {
    const { lifecycle, ops, sites } = world();
    await lifecycle.startAgain(AGENT, [ALSO]);
    await lifecycle.startAgain(AGENT);
    const start = { op: "agent.stop", agentId: AGENT, mark: null };
    expect([sites(), ops()]).toEqual([
      ["agent.start", "agent.start"],
      [start, ALSO, start],
    ]);
  });

  it("that is refused is an error, and no one is told", async () => {
    const { lifecycle, told } = world({ refusals: { "agent.start": 1 } });
    await expect(lifecycle.startAgain(AGENT)).rejects.toThrow("not now");
    expect(told).toEqual([]);
  });
});

describe("a removal", () => {
  test.each<[string, object | null]>([
    ["does not exist", null],
    ["was removed", { stopped: { removed: true } }],
  ])("of an agent that %s is an error, and nothing is committed", async (_title, record) => {
    const { lifecycle, commits } = world({ record });
    await expect(lifecycle.remove(AGENT)).rejects.toThrow("There is no agent a1.");
    await expect(lifecycle.removeIdle(AGENT)).rejects.toThrow("There is no agent a1.");
    expect(commits).toEqual([]);
  });

  it("stops the agent, and tries every 200 ms until it rests", async () => {
    const { lifecycle, ops, told, clock, commits } = world({ refusals: { "agent.remove": 3 } });
    const removed = lifecycle.remove(AGENT, "no more");
    await clock.advance(2_000, settle);
    await removed;
    const [stop, ...removals] = commits;
    expect([stop?.site, removals.map(({ at }) => at - (stop?.at ?? 0))]).toEqual(["agent.stop", [0, 200, 400, 600]]);
    expect(stop?.ops[0]).toMatchObject({ mark: { reason: "no more" } });
    expect(ops().at(-1)).toEqual({ op: "agent.remove", agentId: AGENT, reason: "no more" });
    expect(told).toContain("forget key");
  });

  it("gives up after half a minute", async () => {
    const { lifecycle, clock, commits } = world({ refusals: { "agent.remove": 1_000 } });
    const removed = lifecycle.remove(AGENT).catch((error: Error) => error.message);
    await clock.advance(31_000, settle);
    expect(await removed).toBe("Agent a1 was stopped, but is still at work.");
    expect(commits.slice(1)).toHaveLength(151);
    expect(commits[1]?.ops).toMatchObject([{ reason: "removed by a person" }]);
  });

  test.each<[string, object, number, boolean]>([
    ["that rests", {}, 0, true],
    ["with a message that waits", { waiting: 1 }, 0, false],
    ["with a run", { runId: "r1" }, 0, false],
    ["that got work in between", {}, 1, false],
  ])("of an idle agent: one %s", async (_title, record, refusals, removed) => {
    const { lifecycle, told, ops } = world({ record, refusals: { "agent.remove": refusals } });
    const done = await lifecycle.removeIdle(AGENT).catch((error: Error) => error.message);
    expect(done).toBe(removed ? undefined : "Agent a1 still has work.");
    expect(told).toEqual(removed ? ["forget key"] : []);
    if (removed) expect(ops()).toEqual([{ op: "agent.remove", agentId: AGENT, reason: "removed by a person" }]);
  });
});

describe("an agent of a forgotten person", () => {
  it("is erased with what belongs to it, before its key is forgotten", async () => {
    const { lifecycle, ops, told, sites } = world();
    await lifecycle.erase(AGENT, "gone-1", [ALSO]);
    await lifecycle.erase(AGENT, "gone-1");
    const erase = { op: "agent.erase", agentId: AGENT, tombstone: "gone-1" };
    expect([ops(), sites(), told]).toEqual([
      [ALSO, erase, erase],
      ["agent.erase", "agent.erase"],
      ["forget key", "forget key"],
    ]);
  });

  it("keeps its key if that is refused, and is nothing if it does not exist", async () => {
    const refused = world({ refusals: { "agent.erase": 1 } });
    await expect(refused.lifecycle.erase(AGENT, "gone-1")).rejects.toThrow("not now");
    expect(refused.told).toEqual([]);
    const none = world({ record: null });
    await none.lifecycle.erase(AGENT, "gone-1");
    expect(none.commits).toEqual([]);
  });
});

describe("a swarm", () => {
  it("that is removed frees its name, and each of its agents is stopped and woken once", async () => {
    const { lifecycle, ops, told, commits, clock } = world({
      ...{ swarm: { profile: "main" }, contacts: ["one", "leaving", "two", "gone"] },
    });
    await lifecycle.removeSwarm("bees", "ann");
    expect(commits.map(({ site }) => site)).toEqual(["swarm.remove"]);
    expect(ops().map(({ op }) => op)).toEqual([
      "swarm.remove",
      ...["agent.stop", "approval.withdraw", "message.post"],
      ...["agent.stop", "approval.withdraw", "message.post"],
    ]);
    expect(ops()[0]).toEqual({ op: "swarm.remove", nametag: "bees" });
    const mark = { at: clock.now(), reason: "removed by ann", removing: true };
    expect(ops()[1]).toMatchObject({ agentId: expect.stringContaining("one"), mark });
    expect(ops()[2]).toMatchObject({ reason: "the agent was removed by ann" });
    expect(ops()[6]).toMatchObject({ to: { agentId: expect.stringContaining("two") }, claimFor: 3 });
    expect(told).toEqual(["posted", "posted"]);
  });

  it("is removed by a person if no one is named, and must exist", async () => {
    const { lifecycle, ops } = world({ swarm: { profile: "main" }, contacts: ["one"] });
    await lifecycle.removeSwarm("bees");
    expect(ops()[1]).toMatchObject({ mark: { reason: "removed by a person" } });
    await expect(world().lifecycle.removeSwarm("bees")).rejects.toThrow("There is no swarm bees.");
  });
});

import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Change, CommitResult, Op } from "../../core/store/change.ts";
import type { EngineEvent } from "../engine-event.ts";
import { Membership } from "./membership.ts";

type MembershipOptions = ConstructorParameters<typeof Membership>[1];

const LEASE = 20_000;

/** A node on a store that a test answers for: by default it joins as 1, 2, … and there is nothing to claim. */
function world(options: Partial<MembershipOptions> = {}) {
  const clock = virtualClock();
  const asked: string[] = [];
  const events: string[] = [];
  const state = {
    ...{ nodes: 0, waiting: [] as string[], refuses: "", breaks: "", late: 0, hangs: "", waits: "" },
    /** Answers the commit that waits. */
    answer: () => {},
  };
  const answer = (op: Op): unknown => {
    if (op.op === "node.join") return { op: op.op, node: ++state.nodes };
    if (op.op === "agent.claim") return { op: op.op, epoch: state.waiting.includes(op.agentId) ? 4 : undefined };
    if (op.op !== "agents.claim") return undefined;
    const page = state.waiting.filter((id) => op.after === undefined || id > op.after).slice(0, op.limit);
    return { op: op.op, claims: page.map((agentId) => ({ agentId, epoch: 3 })) };
  };
  const commit = async ({ site, ops, at }: Change): Promise<CommitResult> => {
    const [op] = ops as [Op];
    const until = "leaseUntil" in op ? ` until +${op.leaseUntil > 2 ** 50 ? "∞" : op.leaseUntil - at}` : "";
    const was = op.op === "node.join" && op.was !== undefined ? ` was ${op.was}` : "";
    const own = op.op === "agents.claim" && op.own ? " own" : "";
    const node = op.op !== "node.join" && "node" in op ? ` ${op.node}` : "";
    asked.push(`${site}${node}${until}${was}${own}`);
    if (state.hangs === site) return new Promise(() => {});
    if (state.waits === site) await new Promise<void>((resolve) => Object.assign(state, { answer: resolve }));
    if (state.late > 0 && site === "node.join") {
      clock.advanceSync(state.late);
      state.late = 0;
    }
    if (state.breaks === site) throw new Error("the store is gone");
    if (state.refuses === site) return { ok: false, detail: "no" } as unknown as CommitResult;
    return { ok: true, results: [answer(op)] } as unknown as CommitResult;
  };
  const ports = {
    clock,
    store: { commit, outcome: async () => undefined, busyAgents: async () => state.waiting },
    ids: { change: () => "c" },
    log: { debug() {}, info() {}, warn() {}, error() {} },
  };
  const emit = (event: EngineEvent): void => void events.push(textOf(event));
  const member = new Membership(ports as never, { name: "n", ...options }, emit as never);
  const pass = (ms: number): Promise<void> => clock.advance(ms, turns);
  const take = (): readonly string[] => asked.splice(0);
  const told = (): readonly string[] => events.splice(0);
  return { clock, member, pass, take, told, state };
}
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
};
const textOf = (event: EngineEvent): string => {
  if (event.type === "claimed") return `claimed ${event.agentId} ${event.epoch}`;
  return event.type === "joined" ? `joined ${event.node}` : event.type;
};

describe("a node that is alone", () => {
  test("joins with a lease that never ends, claims, and polls every thirty seconds", async () => {
    const { member, pass, take, told, state, clock } = world();
    expect(member.shared).toBe(false);
    expect(await member.join()).toBe(1);
    await member.start();
    expect(take()).toEqual(["node.join until +∞", "agents.claim 1"]);
    expect(told()).toEqual(["joined 1"]);
    await pass(29_999);
    expect([take(), clock.timers]).toEqual([[], 1]);
    await pass(1);
    // While nobody has work, nothing is committed.
    expect([take(), told()]).toEqual([[], ["polled"]]);
    state.waiting = ["a"];
    await pass(30_000);
    expect(take()).toEqual(["agents.claim 1"]);
    expect(told()).toEqual(["claimed a 3", "polled"]);
  });

  test("lists its own agents at every tenth poll", async () => {
    const { member, pass, take, state } = world();
    state.waiting = ["a"];
    await member.join();
    await member.start();
    await pass(19 * 30_000);
    expect(take().flatMap((text, index) => (text.endsWith("own") ? [index] : []))).toEqual([10, 20]);
  });
});

describe("claiming", () => {
  test("continues after each full page and ends with a smaller one", async () => {
    const { member, take, told, state } = world();
    await member.join();
    state.waiting = Array.from({ length: 200 }, (_, n) => `a${String(n).padStart(3, "0")}`);
    await member.claimAll();
    expect(take().slice(1)).toEqual(["agents.claim 1", "agents.claim 1", "agents.claim 1"]);
    expect(new Set(told().slice(1)).size).toBe(200);
  });

  test("ends with the page at which the node left", async () => {
    const { member, take, state } = world();
    await member.join();
    state.waiting = Array.from({ length: 200 }, (_, n) => `a${n}`);
    member.stop();
    await member.claimAll();
    expect(take().slice(1)).toHaveLength(1);
  });

  test("reports one agent only if it was free", async () => {
    const { member, take, told, state } = world();
    await member.join();
    state.waiting = ["a"];
    await member.claimOne("a" as AgentId);
    await member.claimOne("b" as AgentId);
    state.refuses = "agent.claim";
    await member.claimOne("a" as AgentId);
    expect(told()).toEqual(["joined 1", "claimed a 4"]);
    expect(take().slice(1)).toEqual(["agent.claim 1", "agent.claim 1", "agent.claim 1"]);
  });

  test("repeats a failed first claim at the next poll, with the node's own agents", async () => {
    const { member, pass, take, state } = world();
    await member.join();
    state.breaks = "agents.claim";
    await member.start();
    state.breaks = "";
    take();
    await pass(1_000);
    expect(take()).toEqual(["agents.claim 1 own"]);
  });
});

test.each([
  [0, 1],
  [99, 1],
  [100, 2],
  [199, 2],
  [200, 3],
])("%d agents are claimed in %d calls of a hundred, each once, before the start is over", async (count, calls) => {
  const { member, take, told, state } = world();
  state.waiting = Array.from({ length: count }, (_none, n) => `a${String(n).padStart(3, "0")}`);
  await member.join();
  take();
  told();
  await member.start();
  expect(take()).toHaveLength(calls);
  expect(told()).toEqual(state.waiting.map((id) => `claimed ${id} 3`));
});

describe("a commit that was not answered", () => {
  test("lists the node's own agents after one, five and twenty-five seconds more", async () => {
    const { member, pass, take } = world();
    await member.join();
    take();
    member.doubt();
    await pass(999);
    expect(take()).toEqual([]);
    await pass(1);
    expect(take()).toEqual(["agents.claim 1 own"]);
    await pass(4_999);
    expect(take()).toEqual([]);
    await pass(1);
    expect(take()).toEqual(["agents.claim 1 own"]);
    await pass(25_000);
    expect(take()).toEqual(["agents.claim 1 own"]);
    await pass(1_000_000);
    expect(take()).toEqual([]);
  });

  test("makes the next claim list the node's own agents, once", async () => {
    const { member, take } = world();
    await member.join();
    take();
    member.doubt();
    await member.claimAll();
    await member.claimAll();
    expect(take()).toEqual(["agents.claim 1 own", "agents.claim 1"]);
  });

  test("begins again with another one, and sets no second timer", async () => {
    const { member, pass, take, clock } = world();
    await member.join();
    member.doubt();
    member.doubt();
    expect(clock.timers).toBe(1);
    take();
    const counts: number[] = [];
    for (const ms of [1_000, 1_000, 5_000, 25_000, 1_000_000]) {
      await pass(ms);
      counts.push(take().length);
    }
    expect(counts).toEqual([1, 1, 1, 1, 0]);
  });

  test("sets no second timer when the list itself was not answered", async () => {
    const { member, pass, take, state, clock } = world();
    await member.join();
    member.doubt();
    state.breaks = "agents.claim";
    await pass(1_000);
    expect(clock.timers).toBe(1);
    take();
    state.breaks = "";
    const counts: number[] = [];
    for (const ms of [1_000, 1_000, 5_000, 25_000, 1_000_000]) {
      await pass(ms);
      counts.push(take().length);
    }
    expect(counts).toEqual([1, 1, 1, 1, 0]);
  });

  test("is not followed up after the node has left", async () => {
    const { member, pass, take, clock } = world();
    await member.join();
    member.doubt();
    take();
    await member.leave();
    expect([take(), clock.timers]).toEqual([["node.leave 1"], 0]);
    await pass(100_000);
    expect(take()).toEqual([]);
  });

  test("does not follow up an unanswered leave", async () => {
    const { member, pass, take, state, clock } = world();
    await member.join();
    take();
    state.breaks = "node.leave";
    await expect(member.leave()).rejects.toThrow("the store is gone");
    expect(clock.timers).toBe(0);
    await pass(100_000);
    expect(take()).toEqual(["node.leave 1"]);
  });

  test("does not follow up a list that was under way when the node left", async () => {
    const { member, pass, take, state, clock } = world();
    await member.join();
    member.doubt();
    state.waits = "agents.claim";
    await pass(1_000);
    member.stop();
    state.answer();
    await pass(0);
    expect(clock.timers).toBe(0);
    take();
    await pass(100_000);
    expect(take()).toEqual([]);
  });

  test("rejects for the caller of a claim", async () => {
    const { member, state, pass, take } = world();
    await member.join();
    state.breaks = "agent.claim";
    await expect(member.claimOne("a" as AgentId)).rejects.toThrow("the store is gone");
    take();
    await pass(1_000);
    expect(take()).toEqual(["agents.claim 1 own"]);
  });
});

describe("the lease of a node among others", () => {
  const started = async (options: Partial<MembershipOptions> = {}) => {
    const one = world({ leaseMs: LEASE, pollMs: 1_000_000, ...options });
    await one.member.join();
    await one.member.start();
    one.take();
    one.told();
    return one;
  };

  test("is joined for its length and renewed after each quarter of it", async () => {
    const one = world({ leaseMs: LEASE, pollMs: 1_000_000 });
    expect(one.member.shared).toBe(true);
    await one.member.join();
    await one.member.start();
    expect(one.take()).toEqual([`node.join until +${LEASE}`, "agents.claim 1"]);
    await one.pass(LEASE / 4 - 1);
    expect(one.take()).toEqual([]);
    await one.pass(1);
    expect(one.take()).toEqual([`node.renew 1 until +${LEASE}`]);
    await one.pass(10 * LEASE);
    expect(one.take()).toHaveLength(40);
    expect(one.told()).toEqual(["joined 1"]);
  });

  test("polls every half second", async () => {
    const { pass, told } = await started({ pollMs: undefined });
    await pass(499);
    expect(told()).toEqual([]);
    await pass(1);
    expect(told()).toEqual(["polled"]);
  });

  test("is lost when it is refused: the node joins again as a new one and claims", async () => {
    const { member, pass, take, told, state } = await started();
    state.refuses = "node.renew";
    await pass(LEASE / 4);
    expect(told()).toEqual(["lease-lost", "joined 2"]);
    expect(take()).toEqual([`node.renew 1 until +${LEASE}`, `node.join until +${LEASE} was 1`, "agents.claim 2"]);
    expect(member.node).toBe(2);
    state.refuses = "";
    await pass(10 * LEASE);
    expect(told()).toEqual([]);
  });

  test("is lost when it cannot be renewed in three quarters of its length", async () => {
    const { pass, told, state } = await started();
    state.breaks = "node.renew";
    await pass((LEASE * 3) / 4 - 1);
    expect(told()).toEqual([]);
    await pass(1);
    expect(told()).toEqual(["lease-lost", "joined 2"]);
  });

  test("is tried again after half of its length without an answer, and lost after three quarters", async () => {
    const { pass, take, told, state } = await started();
    state.hangs = "node.renew";
    await pass((LEASE * 3) / 4 - 1);
    expect([take().length, told()]).toEqual([1, []]);
    await pass(1);
    expect(told()).toEqual(["lease-lost", "joined 2"]);
  });

  test("is renewed in time when the node joins after a missing answer", async () => {
    const { pass, told, state } = await started();
    state.hangs = "node.renew";
    await pass(LEASE / 4);
    state.hangs = "";
    await pass(10 * LEASE);
    expect(told()).toEqual(["lease-lost", "joined 2"]);
  });

  test("is lost before anything is renewed when the process was paused for longer", async () => {
    const one = world({ leaseMs: LEASE, pollMs: 1_000_000 });
    await one.member.join();
    await one.pass(LEASE + 1);
    await one.member.start();
    one.told();
    await one.pass(0);
    expect(one.told()).toEqual(["lease-lost", "joined 2"]);
  });

  test("is joined at the next renewal when the new join fails", async () => {
    const { pass, told, state } = await started();
    state.refuses = "node.renew";
    state.breaks = "node.join";
    await pass(LEASE / 4);
    expect(told()).toEqual(["lease-lost"]);
    state.breaks = "";
    state.refuses = "";
    await pass(LEASE / 4);
    expect(told()).toEqual(["lease-lost", "joined 2"]);
  });

  test("is joined once more after a late answer", async () => {
    const { member, take, told, state } = world({ leaseMs: LEASE });
    state.late = LEASE / 2;
    expect(await member.join()).toBe(2);
    expect([take().length, told()]).toEqual([2, ["joined 2"]]);
    state.late = LEASE / 2 - 1;
    expect(await member.join()).toBe(3);
    expect(take()).toHaveLength(1);
  });

  test("is not used when it is joined while the node leaves: nothing is claimed, no timer is set", async () => {
    const { member, pass, take, told, state, clock } = await started();
    state.refuses = "node.renew";
    state.waits = "node.join";
    await pass(LEASE / 4);
    take();
    await member.leave();
    state.answer();
    await pass(10 * LEASE);
    expect([take(), clock.timers]).toEqual([["node.leave 1"], 0]);
    expect(told()).toEqual(["lease-lost", "joined 2"]);
  });

  test("is neither renewed nor lost by an answer after the node has left", async () => {
    for (const refuses of ["", "node.renew"]) {
      const { member, pass, take, told, state, clock } = await started();
      Object.assign(state, { refuses, waits: "node.renew" });
      await pass(LEASE / 4);
      member.stop();
      take();
      state.answer();
      await pass(10 * LEASE);
      expect([take(), told(), clock.timers]).toEqual([[], [], 0]);
    }
  });

  test("stays when a late answer refuses it after the node has joined again", async () => {
    const { pass, told, state } = await started();
    Object.assign(state, { refuses: "node.renew", waits: "node.renew" });
    await pass(LEASE / 4);
    const { answer } = state;
    await pass(LEASE / 2);
    expect(told()).toEqual(["lease-lost", "joined 2"]);
    Object.assign(state, { refuses: "", waits: "" });
    answer();
    await pass(10 * LEASE);
    expect(told()).toEqual([]);
  });

  test("is not renewed and not lost after the node has left", async () => {
    const { member, pass, take, told, clock } = await started();
    await member.leave();
    take();
    await pass(10 * LEASE);
    expect([take(), told(), clock.timers]).toEqual([[], [], 0]);
  });
});

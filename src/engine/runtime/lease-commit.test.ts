/** What a lease keeps in memory of an agent: it changes with a commit that was applied, and with no other. */
import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { seededIds } from "../../../test/kit/ids.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import type { AgentState } from "../../core/agent/state.ts";
import { StoreFullError } from "../../core/errors.ts";
import type { Entry } from "../../core/history/entry.ts";
import type { EntryId, RunId, SessionId } from "../../core/ids.ts";
import type { RunBody } from "../../core/run/run.ts";
import type { Change, CommitResult, Op } from "../../core/store/change.ts";
import { AgentLease, type Committing } from "./agent-lease.ts";
import type { ContextCache } from "./context-cache.ts";

const [LEAF, NEW_LEAF] = ["e1", "e2"] as unknown as [EntryId, EntryId];
const OTHER = "s2" as SessionId;
const record = {
  ...{ id: "a1", sessionId: "s1", leaf: LEAF, nextPos: 5, state: { verboseLevel: "off" } },
  descriptor: { type: "user", connector: "c", userId: "u", channelId: "u" },
} as unknown as AgentRecord;

function world(of: Partial<AgentRecord> = {}) {
  const changes: Change[] = [];
  const appended: Entry[] = [];
  const seen: string[] = [];
  let answer: () => Promise<CommitResult> = async () => ({ ok: true, results: [] }) as never;
  const store = {
    commit: async (change: Change) => {
      changes.push(change);
      return answer();
    },
    outcome: async () => undefined,
  };
  const context = {
    clear: () => void seen.push("clear"),
    append: (entries: readonly Entry[]) => {
      seen.push("append");
      appended.push(...entries);
    },
  } as unknown as ContextCache;
  const ports = { store, ids: seededIds("lease"), clock: virtualClock() } as never;
  const lease = new AgentLease(ports, { ...record, ...of }, { node: 3, epoch: 7 }, context);
  const answers = (next: () => Promise<CommitResult>): void => {
    answer = next;
  };
  return { lease, changes, appended, seen, answers };
}
const kinds = (change: Change | undefined): readonly string[] => (change?.ops ?? []).map(({ op }) => op);
const NOTE: Op = { op: "fact.put", key: "k", value: "v" };
const entry = { type: "message", id: NEW_LEAF, role: "user", content: [] } as unknown as Entry;
const everything: Committing = {
  ...{
    site: "test",
    ops: [{ op: "agent.release" }],
    begins: OTHER,
    state: { verboseLevel: "on" } as unknown as AgentState,
  },
  append: { entries: [entry], position: 5, leaf: NEW_LEAF },
  descriptor: { type: "user", connector: "c", userId: "new", channelId: "u" },
};

describe("the lane of an agent", () => {
  test.each<[AgentDescriptor["type"], string]>([
    ["user", "main"],
    ["permanent", "main"],
    ["subagent", "subagent"],
    ["cron", "cron"],
    ["heartbeat", "cron"],
  ])("of type %s is %s", (type, lane) => {
    expect(world({ descriptor: { type } as AgentDescriptor }).lease.lane).toBe(lane);
  });
});

describe("a run that waits for a person", () => {
  test.each<[true | undefined]>([[true], [undefined]])(
    "is known from the record, also under a later claim: %s",
    (suspended) => {
      const { lease } = world({ suspended, runId: "r1" as RunId });
      expect([lease.suspended, lease.record.suspended]).toEqual([suspended === true, suspended]);
      const renewed = lease.renewed({ node: 3, epoch: 8 });
      expect([renewed.suspended, renewed.runId, renewed.epoch, renewed.node]).toEqual([suspended === true, "r1", 8, 3]);
    },
  );
});

describe("a commit of a lease", () => {
  it("that was applied changes what is in memory, all of it", async () => {
    const { lease, changes, appended, seen } = world();
    await lease.commit(everything);
    expect(lease).toMatchObject({ sessionId: OTHER, leaf: NEW_LEAF, nextPos: 6, state: { verboseLevel: "on" } });
    expect(lease.record).toMatchObject({ id: "a1", descriptor: { userId: "new" } });
    // The old session is forgotten before the entries of the new one are added.
    expect(seen).toEqual(["clear", "append"]);
    expect(appended).toEqual([entry]);
    expect(kinds(changes[0])).toEqual(["agent.release", "entries.append", "session.begin", "state.put"]);
    expect(changes[0]?.owner).toMatchObject({ agentId: "a1", node: 3, epoch: 7, sessionId: "s1" });
  });

  it("with ops alone leaves the rest of memory as it was, and holds the agent", async () => {
    const { lease, seen } = world();
    const before = lease.record;
    await lease.commit({ site: "test", ops: [NOTE] });
    expect([lease.record, seen, lease.released]).toEqual([before, [], false]);
  });

  test.each<[string, () => Promise<CommitResult>, string]>([
    ["was refused", async () => ({ ok: false, refused: "fenced", detail: "no" }), "fenced"],
    ["has an unknown outcome", async () => Promise.reject(new StoreFullError("full")), "unknown"],
  ])("that %s changes nothing, and its debts go with the next one", async (_title, answer, refused) => {
    const { lease, changes, seen, answers } = world();
    lease.alsoCommit(NOTE);
    answers(answer);
    await expect(lease.commit(everything)).rejects.toMatchObject({ refused });
    expect(lease).toMatchObject({ sessionId: "s1", leaf: LEAF, nextPos: 5, state: { verboseLevel: "off" } });
    expect([seen, lease.owesCommit, lease.record.descriptor]).toEqual([[], true, record.descriptor]);
    answers(async () => ({ ok: true, results: [] }) as never);
    await lease.commit({ site: "settle", ops: [] });
    expect(kinds(changes[1])).toEqual(["fact.put"]);
    expect(lease.owesCommit).toBe(false);
  });

  it("takes the ops that waited for it, once, and leaves those that come while it is under way", async () => {
    const { lease, changes, answers } = world();
    expect(lease.owesCommit).toBe(false);
    lease.alsoCommit(NOTE);
    expect(lease.owesCommit).toBe(true);
    answers(async () => {
      lease.alsoCommit({ op: "agent.release" });
      return { ok: true, results: [] } as never;
    });
    await lease.commit({ site: "test", ops: [{ op: "session.begin", sessionId: OTHER }] });
    answers(async () => ({ ok: true, results: [] }) as never);
    await lease.commit({ site: "settle", ops: [] });
    await lease.commit({ site: "rest", ops: [] });
    expect(changes.map(kinds)).toEqual([["session.begin", "fact.put"], ["agent.release"], []]);
  });

  it("that fails for a reason of its own is thrown as it is", async () => {
    const { lease, answers } = world();
    answers(async () => Promise.reject(new TypeError("broken")));
    await expect(lease.commit({ site: "test", ops: [] })).rejects.toBeInstanceOf(TypeError);
  });

  it("has the time of its caller, or now", async () => {
    const { lease, changes } = world();
    await lease.commit({ site: "test", ops: [], at: 5 });
    await lease.commit({ site: "test", ops: [] });
    expect(changes.map(({ at }) => at)).toEqual([5, virtualClock().now()]);
  });
});

describe("the commits of a run", () => {
  it("are known for the run that this lease has worked on, and for no other", async () => {
    const { lease } = world();
    const body: RunBody = { lane: "main", seqs: [1], calls: [], iterations: 0, deliveries: 0 };
    expect(lease.commitsOf("r1" as RunId)).toBeUndefined();
    await lease.commit({ site: "take", at: 1, ops: [{ op: "run.open", runId: "r1" as RunId, body }] });
    expect(lease.commitsOf("r1" as RunId)).toEqual([{ site: "take", at: 1, node: 3 }]);
    expect(lease.commitsOf("r2" as RunId)).toBeUndefined();
  });
});

/** The one commit that asks all questions of a run, who reads them, how long they wait, and when no question is asked after all. */

import { describe, expect, it, test } from "vitest";
import { testSettings } from "../../../test/kit/settings.ts";
import type { Verdict } from "../../core/people/grant.ts";
import type { JudgedCall } from "../../core/ports/gate.ts";
import type { CallRecord, RunBody } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { questionLane } from "../outbox/question-lane.ts";
import type { Committing } from "../runtime/agent-lease.ts";
import { LiveRun } from "../runtime/live-run.ts";
import { suspend } from "./suspend.ts";

const NOW = 1_000_000;
const HERE = { channel: "test", to: "ann" };
const THERE = { channel: "pressing", to: "olga" };
const call = (callId: string, more: Partial<CallRecord> = {}): CallRecord => ({
  ...{ callId, name: "exec", arguments: { n: callId }, replay: "never", state: "asked" },
  ...more,
});

interface Given {
  readonly calls?: readonly CallRecord[];
  readonly body?: Partial<RunBody>;
  /** What the gate says each time it is asked. */
  readonly verdicts?: readonly Verdict[];
  readonly released?: boolean;
  /** The node has no setting for questions. */
  readonly bare?: boolean;
  readonly askAt?: object;
  readonly expiryMinutes?: number;
}

async function world({
  calls = [call("c1")],
  body,
  verdicts = ["ask"],
  released = true,
  bare,
  askAt = THERE,
  expiryMinutes = 5 / 60,
}: Given) {
  const commits: Committing[] = [];
  const events: object[] = [];
  const handed: unknown[][] = [];
  const asked: number[] = [];
  let judged = 0;
  const judge = (one: CallRecord, verdict: Verdict): JudgedCall => ({
    ...{ call: one, decision: { verdict, reason: "why" }, person: "ann", effects: [], acts: true },
  });
  const connector = (buttons?: boolean) => ({ capabilities: { sendText: true, buttons } });
  const ports = {
    settings: testSettings({ approvals: { expiryMinutes } }),
    clock: { now: () => NOW },
    ids: { uuid: () => `00000000-0000-7000-8000-00000000000${commits.length}` },
    gate: {
      judge: async (_agent: object, _run: object, open: readonly CallRecord[]) => {
        const verdict = verdicts[Math.min(judged++, verdicts.length - 1)] as Verdict;
        return { revision: 7, calls: open.map((one) => judge(one, verdict)) };
      },
    },
    store: {
      approval: async (id: string) => ({ id, state: "pending", digest: "d", dueAt: NOW + 5 }),
      approvals: async () => [],
      openApprovals: async () => [],
    },
    tools: { find: () => undefined },
    connectors: new Map(Object.entries({ test: connector(), pressing: connector(true) })),
    approvals: bare
      ? undefined
      : {
          surroundingsOf: async () => ({}),
          askAt: async () => askAt,
          asked: (at: number) => asked.push(at),
        },
    events: { emit: (position: object, event: object) => events.push({ ...position, ...event }) },
    onDeliveries: (...given: unknown[]) => handed.push(given),
  };
  const lease = {
    record: { id: "a1", profile: "main", descriptor: { type: "user" }, state: { label: "main" } },
    suspended: false,
    released: false,
    commit: async (committing: Committing) => {
      commits.push(committing);
      return {
        ok: true,
        results: [...committing.ops.slice(1).map(() => undefined), { op: "agent.release", released }, undefined],
      };
    },
  };
  const run = new LiveRun(
    {
      ...{ id: "r1", agentId: "a1", sessionId: "s", startedAt: NOW - 2_000, step: 3, attempt: 1 },
      body: {
        ...{ lane: "main", seqs: [1], calls: [...calls], iterations: 1, deliveries: 4, delivery: HERE },
        ...{ behalf: { person: "ann" }, ...body },
      },
    } as never,
    testSettings().current,
    { timeoutMs: 600_000, maxIterations: 500 },
  );
  const waits = await suspend(ports as never, lease as never, run);
  const ops = (commits[0]?.ops ?? []) as readonly Op[];
  const added = ops.flatMap((op) => (op.op === "delivery.add" ? [op.delivery] : []));
  const questions = ops.flatMap((op) => (op.op === "approval.ask" ? [op.approval] : []));
  return { waits, run, lease, commits, ops, added, questions, events, asked, handed };
}

describe("a run that waits for a person", () => {
  it("asks, tells and is released in one commit", async () => {
    const { waits, run, lease, commits, ops, added, questions, events, asked, handed } = await world({});
    expect([waits, lease.suspended, lease.released]).toEqual([true, true, true]);
    expect(commits).toHaveLength(1);
    expect(commits[0]).toMatchObject({ site: "suspend", at: NOW, run: { id: "r1", step: 3 } });
    expect(ops.map(({ op }) => op)).toEqual([
      ...["approval.ask", "audit.add", "delivery.add", "delivery.add", "run.step", "run.suspend", "agent.release"],
    ]);
    expect(questions).toMatchObject([
      {
        ...{ agentId: "a1", runId: "r1", callId: "c1", tool: "exec", askedAt: NOW, dueAt: NOW + 5_000 },
        delivery: HERE,
      },
    ]);
    const [{ id } = { id: "" }] = questions;
    expect(ops[1]).toMatchObject({ entry: { decision: "ask", reason: "why", callId: "c1", at: NOW } });
    expect(added.map((one) => [one.id, one.target, one.createdAt, one.payload.person])).toEqual([
      ["r1.4", questionLane(THERE), NOW, "ann"],
      ["r1.5", HERE, NOW, "ann"],
    ]);
    expect(added[0]?.payload).toMatchObject({ text: expect.stringContaining(`Approval ${id} is needed`) });
    expect(added[0]?.payload.buttons?.map(({ token }) => token)).toEqual(
      ["y", "w", "n"].map((answer) => `a:${id}:${answer}:${questions[0]?.digest.slice(0, 16)}`),
    );
    expect(added[1]?.payload.text).toContain("The owner was asked for permission");
    expect(ops.slice(-3, -1)).toMatchObject([
      {
        runId: "r1",
        body: { suspended: true, deliveries: 6, calls: [{ callId: "c1", state: "asked", approval: id }] },
      },
      { runId: "r1", suspended: true },
    ]);
    expect(run.body).toMatchObject({ suspended: true, deliveries: 6, calls: [{ approval: id }] });
    expect(run.step).toBe(4);
    expect(events).toMatchObject([
      { type: "step", step: 4 },
      { type: "approval", callId: "c1", name: "exec", approvalId: id, step: 4 },
    ]);
    expect(asked).toEqual([NOW + 5_000]);
    expect(handed).toEqual([[added, expect.any(Array)]]);
  });

  it("asks only what was not asked before, and tells no one about the rest", async () => {
    const old = call("c0", { approval: "abcd" });
    const { questions, ops, events, run } = await world({ calls: [old, call("c1"), call("c2", { state: "done" })] });
    expect(questions.map(({ callId }) => callId)).toEqual(["c1"]);
    expect(ops.filter(({ op }) => op === "audit.add")).toHaveLength(1);
    expect(run.body.calls.map(({ approval }) => approval)).toEqual(["abcd", questions[0]?.id, undefined]);
    expect(events).toHaveLength(2);
    const none = await world({ calls: [old] });
    expect(none.ops.map(({ op }) => op)).toEqual(["run.step", "run.suspend", "agent.release"]);
    expect([none.waits, none.added, none.asked, none.events.length]).toEqual([true, [], [], 1]);
  });

  test.each<[string, Given, readonly unknown[][]]>([
    [
      "its own person, who decides, reads the question alone",
      { body: { behalf: { person: "owner" } as never } },
      [[questionLane(THERE), 3]],
    ],
    [
      "a run that answers no one tells only the person who decides",
      { body: { delivery: undefined } },
      [[questionLane(THERE), 3]],
    ],
    [
      "a channel without buttons gets the text",
      { askAt: HERE },
      [
        [questionLane(HERE), undefined],
        [HERE, undefined],
      ],
    ],
    ["no one is asked on a node without settings for that", { bare: true }, [[HERE, undefined]]],
  ])("%s", async (_title, given, told) => {
    const { added } = await world(given);
    expect(added.map(({ target, payload }) => [target, payload.buttons?.length])).toEqual(told);
  });

  test.each<[string, Given, number]>([
    ["as long as the node says", {}, NOW + 5_000],
    ["as long as another node says", { bare: true, expiryMinutes: 24 * 60 }, NOW + 24 * 3600_000],
    ["until the time of its message is over", { body: { wishes: { timeoutSeconds: 3 } } }, NOW + 1_000],
    ["no longer than the node says", { body: { wishes: { timeoutSeconds: 60 } } }, NOW + 5_000],
    ["not at all if that time is over", { body: { wishes: { timeoutSeconds: 1 } } }, NOW],
  ])("waits %s", async (_title, given, dueAt) => {
    expect((await world(given)).questions[0]?.dueAt).toBe(dueAt);
  });

  it("keeps its agent if something waits for it", async () => {
    const { lease } = await world({ released: false });
    expect([lease.suspended, lease.released]).toEqual([true, false]);
  });
});

test.each<[Verdict, readonly string[], readonly string[]]>([
  ["allow", ["intended"], ["run.step"]],
  ["deny", [], ["audit.add", "run.step"]],
])("a call of which the gate says %s by now goes on, and no one is asked", async (verdict, states, ops) => {
  const { waits, commits, run, events, lease, asked } = await world({ verdicts: [verdict] });
  expect([waits, lease.suspended, asked]).toEqual([false, false, []]);
  expect(commits).toHaveLength(1);
  expect(commits[0]).toMatchObject({ site: "intend", run: { id: "r1", step: 3 }, rights: 7 });
  expect(commits[0]?.ops.map(({ op }) => op)).toEqual(ops);
  expect(commits[0]?.ops.at(-1)).toMatchObject({
    runId: "r1",
    body: { iterations: 1, deliveries: 4, calls: run.body.calls },
  });
  expect(commits[0]?.append?.entries).toHaveLength(verdict === "deny" ? 1 : 0);
  expect(run.body.calls.map(({ state }) => state)).toEqual(states);
  expect(events).toMatchObject([{ type: "step", step: 4 }]);
});

test("a call that no longer needs its question ends it in the commit that lets it start", async () => {
  const { waits, commits } = await world({ verdicts: ["allow"], calls: [call("c1", { approval: "abcd" })] });
  expect(waits).toBe(false);
  expect(commits[0]?.ops).toMatchObject([{ op: "approval.decide", id: "abcd", to: "withdrawn" }, { op: "run.step" }]);
});

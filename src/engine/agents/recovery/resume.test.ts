/** The one commit that resumes a run: what it records, repeats and settles, and what the run knows afterwards. No engine. */
import { describe, expect, it, test } from "vitest";
import type { Message } from "../../../core/message/message.ts";
import type { CallRecord, RunBody } from "../../../core/run/run.ts";
import { NOW, recordedLease } from "../actor/lease.test-kit.ts";
import { type Resumption, resumeRun } from "./resume.ts";

const BEHALF = { person: "ann" as never, through: ["eve" as never] };
const call = (callId: string, state: CallRecord["state"], replay: CallRecord["replay"] = "safe"): CallRecord =>
  ({ callId, name: `tool-${callId}`, arguments: {}, state, replay }) as CallRecord;

interface Given extends Partial<Resumption> {
  readonly body?: Partial<RunBody>;
  readonly abort?: object;
  readonly startedAt?: number;
}

async function resumed({ body, abort, startedAt = 100, ...resumption }: Given = {}) {
  const recorded = recordedLease({ lease: { suspended: true } });
  const full = { lane: "main", node: 1, seqs: [1], calls: [], iterations: 2, deliveries: 1, behalf: BEHALF, ...body };
  const record = { id: "r1", agentId: "a1", sessionId: "s1", startedAt, step: 6, attempt: 1, body: full, abort };
  const { ports, lease, commits } = recorded;
  const run = await resumeRun(ports, lease, record as never, { attempt: 2, ...resumption });
  const [commit] = commits;
  const ops = commit?.ops ?? [];
  const step = ops.find((op) => op.op === "run.step");
  const written = step?.op === "run.step" ? step.body : undefined;
  const texts = (commit?.append?.entries ?? []).map((entry) => JSON.stringify(entry));
  return { ...recorded, run, commit, ops, written, texts };
}

it("records the attempt on this node in one commit, and the run goes on from there", async () => {
  const { run, commits, commit, ops, lease, events } = await resumed({ body: { paused: true } });
  expect([commits.length, commit?.site, commit?.run]).toEqual([1, "resume", { id: "r1", step: 6, evenAborted: true }]);
  const body = { lane: "main", node: 3, seqs: [1], calls: [], iterations: 2, deliveries: 1, behalf: BEHALF };
  expect(ops).toEqual([
    { op: "run.step", runId: "r1", attempt: 2, body },
    { op: "budget.forfeit", runId: "r1" },
  ]);
  expect([run.body, run.step, run.attempt, run.trial, lease.suspended]).toEqual([body, 7, 2, undefined, false]);
  expect([run.signal.aborted, run.limits.timeoutMs]).toEqual([false, 1_000]);
  expect(events).toEqual([[run.position, { type: "restart", attempt: 2 }]]);
});

describe("the calls that were open", () => {
  test.each<[string, readonly CallRecord[], readonly string[], readonly string[]]>([
    ["one that may be repeated starts again", [call("a", "intended")], ["a intended"], []],
    ["one that must not be is over, its outcome unknown", [call("a", "intended", "never")], [], ["a"]],
    ["one that has not started starts", [call("a", "asked", "never")], ["a intended"], []],
    [
      "each for itself",
      [call("a", "done"), call("b", "intended", "never"), call("c", "intended"), call("d", "asked", "never")],
      ["a done", "b done", "c intended", "d intended"],
      ["b"],
    ],
  ])("%s", async (_title, calls, expected, unknown) => {
    const { run, written, texts } = await resumed({ body: { calls: [...calls] } });
    const shown = run.body.calls.map(({ callId, state }) => `${callId} ${state}`);
    expect([shown, written?.calls]).toEqual([expected, run.body.calls]);
    expect(texts).toHaveLength(unknown.length);
    for (const [at, id] of unknown.entries()) {
      expect(texts[at]).toContain(`"toolCallId":"${id}"`);
      expect(texts[at]).toMatch(/"isError":true/);
      expect(JSON.parse(texts[at] ?? "")).toMatchObject({ timestamp: NOW, runId: "r1" });
    }
  });
});

describe("a trial", () => {
  const trial = { deaths: [4], survived: 1 };
  it("is in the record and in memory, and not in the body that the next step writes", async () => {
    const on = { node: 3, of: 1, alone: true };
    const { run, written } = await resumed({ body: { trial: { deaths: [], survived: 0 } }, trial, on });
    expect([written?.trial, run.trial, run.body.trial]).toEqual([{ ...trial, on }, trial, undefined]);
    expect(written).toEqual({ ...run.body, trial: { ...trial, on } });
  });

  it("that is not known any more is cleared", async () => {
    const { run, written } = await resumed({ body: { trial } });
    expect([written, run.trial]).toEqual([expect.not.objectContaining({ trial: expect.anything() }), undefined]);
  });
});

describe("a run that was suspended", () => {
  const decisions = [{ seq: 8 }, { seq: 9 }] as Message[];
  const woken = { op: "run.suspend", runId: "r1", suspended: false };

  it("is woken in the same commit, which settles the decisions that woke it", async () => {
    const { ops, written } = await resumed({ body: { suspended: true }, waking: { decisions, waitEnds: false } });
    const about = { from: "waiting", state: "recorded", reason: "its run went on", runId: "r1" };
    expect(ops.slice(0, 2)).toEqual([
      woken,
      { op: "message.settle", settlements: [8, 9].map((seq) => ({ seq, ...about })) },
    ]);
    expect(written).not.toHaveProperty("suspended");
  });

  test.each([[{ decisions: [], waitEnds: false }], [undefined]])(
    "is woken also without a decision: %j",
    async (waking) => {
      const { ops } = await resumed({ body: { suspended: true }, waking });
      expect(ops.map(({ op }) => op)).toEqual(["run.suspend", "run.step", "budget.forfeit"]);
    },
  );

  it("settles nothing if it was not suspended", async () => {
    const { settled, ops } = await resumed({ waking: { decisions, waitEnds: false } });
    expect([settled(), ops[0]?.op]).toEqual([[], "run.step"]);
  });

  test.each<[string, Partial<RunBody>, number, number, string | undefined]>([
    ["its own limit counted on", { suspended: true, wishes: { timeoutSeconds: 2 } }, NOW - 500, 1_500, undefined],
    ["its own limit is over", { suspended: true, wishes: { timeoutSeconds: 2 } }, NOW - 2_000, 0, "timeout"],
    ["its own limit has long been over", { suspended: true, wishes: { timeoutSeconds: 2 } }, NOW - 9_000, 0, "timeout"],
    ["the default limit did not", { suspended: true, wishes: { model: "m" } }, NOW - 9_000, 1_000, undefined],
    ["without a wait nothing counts", { wishes: { timeoutSeconds: 2 } }, NOW - 9_000, 2_000, undefined],
  ])("has the time that is left: %s", async (_title, body, startedAt, timeoutMs, ended) => {
    const { run } = await resumed({ body, startedAt });
    expect([run.limits.timeoutMs, run.endReason]).toEqual([timeoutMs, ended]);
    expect(run.limits.maxIterations).toBeGreaterThan(0);
  });
});

it("ends as its mark says, also if its time is over", async () => {
  const body = { suspended: true, wishes: { timeoutSeconds: 2 } } as const;
  const { run } = await resumed({ body, startedAt: NOW - 9_000, abort: { reason: "person", at: 1 } });
  expect(run.endReason).toBe("person");
});

it("names the agent's person if an earlier version named no one", async () => {
  const { run, written } = await resumed({ body: { behalf: undefined } });
  expect([run.body.behalf, written?.behalf]).toEqual([
    { ...run.body.behalf, person: "ann" },
    expect.objectContaining({ person: "ann" }),
  ]);
});

test.each<[string, Partial<RunBody>, number]>([
  ["after a crash", {}, 1],
  ["on the same node", { node: 3 }, 0],
  ["after a pause", { paused: true }, 0],
  ["after a wait for a person", { suspended: true }, 0],
])("says in the log that it was resumed, %s", async (_title, body, lines) => {
  expect((await resumed({ body })).log.filter(({ message }) => message.includes("after a crash"))).toHaveLength(lines);
});

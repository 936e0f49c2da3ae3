/**
 * Every subagent reports once (L6), and a stop ends everything below it (L7). Judged by the changes that were applied, in their order,
 * and by the requests to the model. The world itself
 * writes the log of changes when they are applied; it is not read from tables.
 */

import type { SubagentRunRecord } from "../../../src/core/agent/subagent-run.ts";
import type { Change, CommitResult, Op, OpResult } from "../../../src/core/store/change.ts";
import { broken, isResumption, type View, type Violation } from "./audit-view.ts";

/** A change that was applied, with the results of its ops. */
export interface Applied {
  readonly change: Change;
  readonly results: readonly (OpResult | undefined)[];
}

/** Records the changes that a backend applies, in order. */
export function recording(
  log: Applied[],
  changes: readonly Change[],
  results: readonly (CommitResult | Error)[],
): void {
  changes.forEach((change, index) => {
    const result = results[index];
    if (result && !(result instanceof Error) && result.ok) log.push({ change, results: result.results });
  });
}

export function* subagents(view: View): Iterable<Violation> {
  yield* everyChildReportsOnce(view);
  yield* everyReportIsHeard(view);
  yield* nothingBeginsUnderAStop(view);
}

interface Spawn {
  readonly record: SubagentRunRecord;
  /** Its last record in the store; undefined if it was removed. */
  last: SubagentRunRecord | undefined;
  ended: SubagentRunRecord | undefined;
  reports: number;
  /** Whether the commit that made it also wrote it into its parent's history. */
  readonly announced: boolean;
}

function spawnsOf({ applied }: View): Map<string, Spawn> {
  const spawns = new Map<string, Spawn>();
  for (const { change, results } of applied) {
    const lines = change.ops.flatMap((op) => (op.op === "entries.append" ? op.lines : []));
    change.ops.forEach((op, index) => {
      if (op.op === "subagent.put") {
        const { record } = op;
        const known = spawns.get(record.runId);
        const announced = lines.some((line) => line.includes(record.runId));
        const spawn = known ?? { record, last: record, ended: undefined, reports: 0, announced };
        spawn.last = record;
        if (record.endedAt !== undefined) spawn.ended ??= record;
        spawns.set(record.runId, spawn);
      }
      if (op.op === "subagent.remove") {
        const spawn = spawns.get(op.runId);
        if (spawn) spawn.last = undefined;
      }
      if (isReport(op) && isNew(results[index])) {
        const spawn = spawns.get(op.message.body.childRunId);
        if (spawn) spawn.reports += 1;
        else spawns.set(op.message.body.childRunId, stray(op.message.body.childRunId));
      }
    });
  }
  return spawns;
}

type Report = Extract<Op, { op: "message.post" }> & { message: { body: { kind: "report"; childRunId: string } } };
const isReport = (op: Op): op is Report => op.op === "message.post" && op.message.body.kind === "report";
const isNew = (result: OpResult | undefined): boolean => result?.op === "message.post" && !result.duplicate;
const stray = (runId: string): Spawn => ({
  record: { runId, label: "?" } as SubagentRunRecord,
  last: undefined,
  ended: undefined,
  reports: 1,
  announced: true,
});

/** Every spawn has one report or a recorded drop, is in its parent's history, and was made once (L6). */
function* everyChildReportsOnce(view: View): Iterable<Violation> {
  const byLabel = new Map<string, number>();
  for (const [runId, { record, ended, last, reports, announced }] of spawnsOf(view)) {
    const who = `${record.label} (${runId})`;
    byLabel.set(record.label ?? "", (byLabel.get(record.label ?? "") ?? 0) + 1);
    if (!announced)
      yield broken("L6", `${who} was started in another commit than the one that wrote it into its parent's history`);
    if (!ended) yield broken("L6", `${who} never came to an end`);
    const dropped = ended?.reportDropped !== undefined;
    if (reports !== (dropped ? 0 : 1))
      yield broken("L6", `${who} made ${reports} reports${dropped ? " and a drop" : ""}`);
    if (record.cleanup === "delete" && last && ended)
      yield broken("liveness", `${who} should be deleted but is still there`);
  }
  for (const [label, times] of byLabel) if (times > 1) yield broken("L6", `${label} was started ${times} times`);
}

/** A report that was answered reached the model, and its answer has a delivery to the right place (L6). */
function* everyReportIsHeard({ listed, calls, applied }: View): Iterable<Violation> {
  const origins = new Map<string, unknown>();
  for (const { change } of applied) {
    for (const op of change.ops) {
      if (op.op === "subagent.put")
        origins.set(op.record.runId, [op.record.requesterAgentId, op.record.requesterOrigin]);
    }
  }
  for (const { agent, messages, deliveries } of listed) {
    for (const { body, state, runId, delivery } of messages) {
      if (body.kind !== "report") continue;
      const mark = /^A background task "(⟦[^⟧]*⟧)"/u.exec(body.text)?.[1] ?? "no mark";
      if (state === "waiting" || state === "taken") yield broken("liveness", `the report of ${mark} is still ${state}`);
      const heard = (): boolean => calls.some(({ bytes }) => bytes.some((text) => text.includes(`task \\"${mark}`)));
      if ((state === "answered" || state === "merged") && !heard())
        yield broken("L6", `the report of ${mark} is ${state}, but it never reached the model`);
      if (state === "answered" && delivery && !deliveries.some((one) => one.runId === runId))
        yield broken("L6", `the report of ${mark} is answered, and the answer has no delivery`);
      const [requester, origin] = (origins.get(body.childRunId) ?? []) as [string?, object?];
      if (requester === agent.id && JSON.stringify(delivery) !== JSON.stringify(origin))
        yield broken("L6", `the report of ${mark} goes to ${JSON.stringify(delivery)}, not to its origin`);
    }
  }
}

/** Once a stop is durable nothing begins below it: no agent, no run, no tool (L7). Work in progress may end. */
function* nothingBeginsUnderAStop({ applied }: View): Iterable<Violation> {
  const parents = new Map<string, string>();
  const stopped = new Set<string>();
  const stopAbove = (id: string | undefined): string | undefined => {
    for (let one = id; one !== undefined; one = parents.get(one)) if (stopped.has(one)) return one;
    return undefined;
  };
  for (const { change, results } of applied) {
    const owner = change.owner?.agentId;
    // A mark that the same commit takes back does not apply to it.
    for (const op of change.ops) if (op.op === "agent.stop" && op.mark === null) stopped.delete(op.agentId);
    for (const [index, op] of change.ops.entries()) {
      const begins = beginsIn(op, results[index], change);
      const under = begins && stopAbove(begins.parent ?? owner);
      if (under) yield broken("L7", `${begins.what} began at ${change.site} under the stop of ${under}`);
      if (begins?.child && begins.parent) parents.set(begins.child, begins.parent);
    }
    for (const op of change.ops) {
      if (op.op === "agent.stop" && op.mark !== null) stopped.add(op.agentId);
      if (op.op === "agent.remove") stopped.add(op.agentId);
    }
  }
}

interface Begins {
  readonly what: string;
  readonly parent?: string;
  readonly child?: string;
}

function beginsIn(op: Op, result: OpResult | undefined, change: Change): Begins | undefined {
  if (op.op === "run.open") return { what: `run ${op.runId}` };
  // Calls that a crash left intended are written again when the run resumes, to be ended.
  if (op.op === "run.step" && !isResumption(change) && op.body.calls.some(({ state }) => state === "intended")) {
    return { what: `a tool of run ${op.runId}` };
  }
  const made = op.op === "message.post" && "create" in op.to && result?.op === "message.post" && result.created;
  const seed = made && "create" in op.to ? op.to.create : undefined;
  if (seed?.descriptor.type !== "subagent") return undefined;
  return { what: `child ${seed.id}`, parent: seed.descriptor.parentAgentId, child: seed.id };
}

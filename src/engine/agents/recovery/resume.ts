/**
 * Resumes a run that has no end: one commit records the attempt (M13) and settles what a crash left open. Calls that must
 * not be repeated get the result "outcome unknown"; the others are repeated (L4).
 */
import type { CallRecord, RunBody, RunRecord } from "../../../core/run/run.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import { chain, toolEntry } from "../../context/entries.ts";
import { resultOf } from "../../runs/act.ts";
import { textOutput, UNKNOWN_OUTCOME } from "../../runs/call-tool.ts";
import { auditUnknown, commitIntent } from "../../runs/intend.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { LiveRun, runTimeOf } from "../../runtime/live-run.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";

export interface Resumption {
  readonly attempt: number;
  /** What is known from earlier trials. Stays in the record until the next step. */
  readonly trial?: RunTrial;
  /** The run is on trial from this commit on. */
  readonly on?: RunTrial["on"];
}

export async function resumeRun(
  ports: RunPorts,
  lease: AgentLease,
  record: RunRecord,
  { attempt, trial, on }: Resumption,
): Promise<LiveRun> {
  const { paused: _paused, trial: _trial, ...rest } = record.body;
  const at = ports.clock.now();
  const unknown = (call: CallRecord): boolean => call.state === "intended" && call.replay === "never";
  const orphans = rest.calls.filter(unknown);
  // What was about to start is judged again: it starts again (L13).
  const settled = rest.calls.map(
    (call): CallRecord => (call.state === "done" ? call : { ...call, state: unknown(call) ? "done" : "asked" }),
  );
  const agent = lease.record;
  // In memory without the trial: the first new step clears it.
  const bodyWith = (calls: readonly CallRecord[]) => ({ ...rest, node: lease.node, calls: [...calls] }) as RunBody;
  const body = bodyWith(settled);
  const run = new LiveRun({ ...record, attempt, body }, runTimeOf(ports, agent, body.wishes));
  run.trial = trial;
  const entries = orphans.map((call) => toolEntry(resultOf(call, textOutput(UNKNOWN_OUTCOME, true)), at, record.id));
  const { calls } = await commitIntent(ports, lease, run, settled, (intent) => ({
    site: "resume",
    ops: [
      ...auditUnknown(ports, agent, run, orphans, at),
      ...intent.ops,
      {
        op: "run.step",
        runId: record.id,
        body: trial ? { ...bodyWith(intent.calls), trial: { ...trial, on } } : bodyWith(intent.calls),
        attempt,
      },
      // The cost of a call that the crash interrupted stays unknown: its reservation is charged (M21).
      { op: "budget.forfeit", runId: record.id },
    ],
    append: chain(ports.ids, lease, [...entries, ...intent.denials]),
    // A run with an abort mark is resumed too: the loop ends it.
    run: run.guard(true),
  }));
  run.body = bodyWith(calls);
  run.step += 1;
  if (record.body.node !== lease.node && !record.body.paused) {
    ports.log.info("resumed a run after a crash", { agent: lease.agentId, run: record.id, attempt, step: record.step });
  }
  if (record.abort) run.end(record.abort.reason);
  ports.events.emit(run.position, { type: "restart", attempt });
  return run;
}

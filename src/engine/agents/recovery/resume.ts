/**
 * Resumes a run that has no end: one commit records the attempt (M13) and settles what a crash left open. Calls that must
 * not be repeated get the result "outcome unknown"; the others are repeated (L4).
 */
import type { Message } from "../../../core/message/message.ts";
import type { CallRecord, RunBody, RunRecord } from "../../../core/run/run.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import type { Op, Settlement } from "../../../core/store/change.ts";
import { callEntry, chain } from "../../context/entries.ts";
import { runBehalf } from "../../people/run-behalf.ts";
import { textOutput, UNKNOWN_OUTCOME } from "../../runs/call-tool.ts";
import { auditUnknown, commitIntent, type Intent } from "../../runs/intend.ts";
import type { AgentLease, Committing } from "../../runtime/agent-lease.ts";
import { belongingOf } from "../../runtime/belonging.ts";
import { LiveRun, type RunTime, runTimeOf } from "../../runtime/live-run.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";

interface Resumption {
  readonly attempt: number;
  /** Whether a crash interrupted it. Continuing after an answer or a drain is not recovery (M45). */
  readonly crashed: boolean;
  /** The result of earlier trials. Stays in the record until the next step. */
  readonly trial?: RunTrial;
  /** The run is on trial from this commit on. */
  readonly on?: RunTrial["on"];
  /** The reason why a suspended run was woken. */
  readonly waking?: Waking;
}

/** The decisions that are settled with the resumption, and whether the run continues without those that are missing (M31). */
export interface Waking {
  readonly decisions: readonly Message[];
  readonly waitEnds: boolean;
}

export async function resumeRun(
  ports: RunPorts,
  lease: AgentLease,
  record: RunRecord,
  { attempt, crashed, trial, on, waking }: Resumption,
): Promise<LiveRun> {
  const { paused: _paused, trial: _trial, suspended: wasSuspended, ...rest } = record.body;
  const at = ports.clock.now();
  const unknown = (call: CallRecord): boolean => call.state === "intended" && call.replay === "never";
  const orphans = rest.calls.filter(unknown);
  // A call that was about to start is judged again: it starts again (L13).
  const settled = rest.calls.map(
    (call): CallRecord => (call.state === "done" ? call : { ...call, state: unknown(call) ? "done" : "asked" }),
  );
  const agent = lease.record;
  // In memory without the trial: the first new step clears it.
  // A run of an earlier version names no one yet.
  const behalf = rest.behalf ?? runBehalf(await belongingOf(ports, lease), []);
  const bodyWith = (calls: readonly CallRecord[]) =>
    ({ ...rest, node: lease.node, calls: [...calls], behalf }) as RunBody;
  const body = bodyWith(settled);
  const settings = ports.settings.current;
  const time = timeLeft(runTimeOf(settings, agent, body.wishes), record, at);
  const run = new LiveRun({ ...record, attempt, body }, settings, time);
  run.trial = trial;
  const entries = orphans.map((call) => callEntry(call, textOutput(UNKNOWN_OUTCOME, true), at, record.id));
  const wake: readonly Op[] = wasSuspended ? wakeOps(record, waking) : [];
  const resuming = (intent: Intent): Committing => ({
    site: crashed ? "resume" : "continue",
    ops: [
      ...wake,
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
  });
  const { calls } = await commitIntent(ports, lease, run, settled, resuming, { waitEnds: waking?.waitEnds });
  lease.suspended = false;
  run.body = bodyWith(calls);
  run.step += 1;
  if (crashed) {
    ports.log.info("resumed a run after a crash", { agent: lease.agentId, run: record.id, attempt, step: record.step });
  }
  if (record.abort) run.end(record.abort.reason);
  else if (run.limits.timeoutMs === 0) run.end("timeout");
  ports.events.emit(run.position, { type: "restart", attempt });
  return run;
}

function wakeOps({ id: runId }: RunRecord, waking: Waking | undefined): readonly Op[] {
  const settlements = (waking?.decisions ?? []).map(
    ({ seq }): Settlement => ({ seq, from: "waiting", state: "recorded", reason: "its run went on", runId }),
  );
  const woken: Op = { op: "run.suspend", runId, suspended: false };
  return settlements.length === 0 ? [woken] : [woken, { op: "message.settle", settlements }];
}

/** A time limit that the run's own message sets counted on while it was suspended; the default one did not (M31). */
function timeLeft(time: RunTime, { startedAt, body }: RunRecord, at: number): RunTime {
  if (!body.suspended || body.wishes?.timeoutSeconds === undefined) return time;
  return { ...time, timeoutMs: Math.max(0, startedAt + time.timeoutMs - at) };
}

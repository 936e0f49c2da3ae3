/**
 * Decides about a run without an end (M13). The first crash resumes it at once. A suspect waits for its trial. The third death
 * while it was alone on trial fails it. Drains and lost leases do not count.
 */
import type { RunRecord } from "../../../core/run/run.ts";
import type { RunTrial, WatchdogNote } from "../../../core/run/trial.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import { CommitRefused } from "../../commit/commit-refused.ts";
import { submit } from "../../commit/submit.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { stopOf } from "../../subagents/tree.ts";
import { judge, MAX_DEATHS, UNTRIED } from "./judge-trial.ts";
import type { Fate } from "./node-fates.ts";
import type { RecoveryParts } from "./recover-run.ts";

export type Decision =
  | { readonly what: "wait"; readonly ms: number }
  /** `tried`: it is on trial from now on. */
  | { readonly what: "resume"; readonly attempt: number; readonly trial?: RunTrial; readonly tried?: true }
  | {
      readonly what: "fail";
      readonly attempt: number;
      readonly trial: RunTrial;
      readonly message: string;
      /** Not needed any more when the run has failed. */
      readonly note?: WatchdogNote;
    };

const KILLED_TEXT =
  "This could not be finished: the program stopped three times while only this run was being tried, so this run stops it. It is not tried again.";
const blockedText = ({ phase }: WatchdogNote): string =>
  `This could not be finished: it blocked the program, the last time at "${phase}". It is not tried again.`;
const FAULT_TEXT =
  "This could not be finished: it caused an error inside the program three times. It is not tried again.";

export async function decide(parts: RecoveryParts, lease: AgentLease, record: RunRecord): Promise<Decision> {
  const { trials, fates, ports } = parts.host;
  const { attempt, body, abort } = record;
  const known = body.trial;
  const { faulted } = parts;
  // Another node stopped working on it, or this one had a fault. Trouble with the store alone does not count.
  // A suspended run was not at work, so its node's end says nothing about it (M31).
  const interrupted = faulted || (body.node !== lease.node && !body.paused && !body.suspended);
  if (!interrupted && !known) return { what: "resume", attempt };
  const fateOf = await fates.read(lease.node);
  const crashed = faulted || (interrupted && hasDied(body.node, fateOf));
  const next = crashed ? attempt + 1 : attempt;
  // A run that is about to end needs no trial. Nothing of it is executed.
  if (abort || parts.discards || (await stopOf(ports.store, lease.record))) {
    trials.leave(parts);
    return { what: "resume", attempt: next };
  }
  parts.faulted = false;
  if (faulted) return afterFault(next, known, lease.node);
  const note = crashed ? await ports.watchdogNotes?.of(record.id) : undefined;
  const judged = judge(known, fateOf, note && { node: body.node ?? 0, at: note.at });
  if (!judged) return { what: "wait", ms: fates.lookMs };
  const { trial, counted } = judged;
  if (trial.deaths.length >= MAX_DEATHS) {
    const message = note ? blockedText(note) : KILLED_TEXT;
    return { what: "fail", attempt: next, trial, message, note };
  }
  if (counted) return beginPause(parts, lease, record, trial, note);
  if (trial.pause !== undefined) return duringPause(parts, lease, record, trial);
  const suspect = known?.on !== undefined || isMarked(trial) || (crashed && attempt > 1);
  if (!suspect) {
    trials.leave(parts);
    return { what: "resume", attempt: next, trial: known && trial };
  }
  if (!trials.awaits(parts)) {
    const { deaths, survived } = trial;
    ports.log.warn("a run was open when the program stopped, twice or more; it waits for its trial", {
      run: record.id,
      agent: lease.agentId,
      deaths: deaths.length,
      survived,
    });
  }
  const ms = trials.ask({ actor: parts, trial, wake: () => parts.wake() });
  return ms === undefined ? { what: "resume", attempt: next, trial, tried: true } : { what: "wait", ms };
}

/** A fault inside the program, which would come back, has one certain cause: it counts at once, without a trial. */
function afterFault(attempt: number, known: RunTrial = UNTRIED, node: number): Decision {
  const trial: RunTrial = { ...known, on: undefined, pause: undefined, deaths: [...known.deaths, node] };
  if (trial.deaths.length < MAX_DEATHS) return { what: "resume", attempt, trial };
  return { what: "fail", attempt, trial, message: FAULT_TEXT };
}

/** The death is committed before the pause begins, so that it can be struck out if this process dies during the pause. */
async function beginPause(
  parts: RecoveryParts,
  lease: AgentLease,
  record: RunRecord,
  trial: RunTrial,
  note: WatchdogNote | undefined,
): Promise<Decision> {
  const { trials, ports, node } = parts.host;
  const { length: deaths } = trial.deaths;
  trials.leave(parts);
  // Only a death with nothing on trial proves that something else kills the process.
  if (!trials.pause(deaths)) return { what: "wait", ms: 1_000 };
  await amendTrial(parts, lease, record, "trial.death", { ...trial, pause: node });
  if (note) await ports.watchdogNotes?.counted(note);
  const what = note ? "a run blocked the program" : "the program stopped while only this run was being tried";
  ports.log.warn(what, { run: record.id, agent: lease.agentId, times: deaths, phase: note?.phase });
  return { what: "wait", ms: trials.pauseLeft };
}

async function duringPause(
  parts: RecoveryParts,
  lease: AgentLease,
  record: RunRecord,
  { pause: _pause, ...trial }: RunTrial,
): Promise<Decision> {
  const ms = parts.host.trials.pauseLeft;
  // From here on a death says nothing about the last one.
  if (ms <= 0) await amendTrial(parts, lease, record, "trial.pause-over", trial);
  return { what: "wait", ms };
}

async function amendTrial(
  { host: { ports } }: RecoveryParts,
  { agentId, node, epoch, sessionId }: AgentLease,
  { id, step, body }: RunRecord,
  site: CommitSite,
  trial: RunTrial,
): Promise<void> {
  const owner = { agentId, node, epoch, sessionId, run: { id, step } };
  const result = await submit(ports, site, [{ op: "run.amend", runId: id, body: { ...body, trial } }], { owner });
  if (!result.ok) throw new CommitRefused(result.refused, result.detail);
}

const isMarked = ({ of, deaths }: RunTrial): boolean => of !== undefined || deaths.length > 0;

/** A node that returned had lost its lease. A silent one may have died: the run becomes a suspect, but does not fail. */
function hasDied(node: number | undefined, fateOf: (node: number) => Fate): boolean {
  if (node === undefined) return true;
  const fate = fateOf(node);
  return fate === "dead" || fate === "silent";
}

/**
 * Decides about a run without an end (M13). The first crash resumes it, a suspect is tried, and the third death while it was alone on
 * trial fails it. Drains and lost leases do not count. A run that waits here ends at once if a person wants that.
 */
import type { RunRecord } from "../../../core/run/run.ts";
import type { RunTrial, WatchdogNote } from "../../../core/run/trial.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import { CommitRefused } from "../../commit/commit-refused.ts";
import { submit } from "../../commit/submit.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { stopOf } from "../../subagents/tree.ts";
import { hasCrashed, isSuspect, judge, MAX_DEATHS, UNTRIED, wasInterrupted } from "./judge-trial.ts";
import type { Fate } from "./node-fates.ts";
import type { RecoveryParts } from "./recover-run.ts";

export type Decision =
  | { readonly what: "wait"; readonly ms: number }
  | {
      readonly what: "resume";
      readonly attempt: number;
      /** Whether a crash interrupted it. */
      readonly crashed: boolean;
      readonly trial?: RunTrial;
      /** It is on trial from now on. */
      readonly tried?: true;
    }
  | {
      readonly what: "fail";
      readonly attempt: number;
      readonly crashed: boolean;
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
  const { faulted, inbox } = parts;
  const { trials, fates, ports } = parts.host;
  const { id, attempt, body, abort } = record;
  // Trouble with the store alone does not count.
  if (!faulted && !wasInterrupted(record, lease.node) && !body.trial)
    return { what: "resume", attempt, crashed: false };
  const fateOf = await fates.read(lease.node);
  const crashed = faulted || hasCrashed(record, lease.node, fateOf);
  const next = crashed ? attempt + 1 : attempt;
  // A run that is about to end needs no trial: it executes nothing.
  if (abort || parts.discards || (await stopOf(ports.store, lease.record))) {
    trials.leave(id);
    return { what: "resume", attempt: next, crashed };
  }
  parts.faulted = false;
  if (faulted) return afterFault(next, body.trial, lease.node);
  if (crashed) await trials.opened();
  const decision = await decideTrial(parts, lease, record, fateOf, crashed);
  if (decision.what !== "wait" || !(await inbox.endsRun(body, lease))) return decision;
  trials.leave(id);
  return { what: "resume", attempt: next, crashed };
}

async function decideTrial(
  parts: RecoveryParts,
  lease: AgentLease,
  record: RunRecord,
  fateOf: (node: number) => Fate,
  crashed: boolean,
): Promise<Decision> {
  const { trials, fates, ports } = parts.host;
  const { id, body } = record;
  const attempt = crashed ? record.attempt + 1 : record.attempt;
  const note = crashed ? await ports.watchdogNotes?.of(id) : undefined;
  const judged = judge(body.trial, fateOf, note && { node: body.node ?? 0, at: note.at });
  if (!judged) return { what: "wait", ms: fates.lookMs };
  const { trial, counted } = judged;
  if (trial.deaths.length >= MAX_DEATHS) {
    const message = note ? blockedText(note) : KILLED_TEXT;
    return { what: "fail", attempt, crashed, trial, message, note };
  }
  if (counted) return beginPause(parts, lease, record, trial, note);
  if (trial.pause !== undefined) return duringPause(parts, lease, record, trial);
  const suspect = isSuspect(record, trial, crashed);
  const wake = (): void => parts.wake();
  const ms = suspect ? await trials.ask(id, trial, wake) : crashed ? trials.holdBack(id, wake) : undefined;
  if (ms !== undefined) return { what: "wait", ms };
  if (suspect) return { what: "resume", attempt, crashed, trial, tried: true };
  return { what: "resume", attempt, crashed, trial: body.trial && trial };
}

/** A fault inside the program, which would come back, has one certain cause: it counts at once, without a trial. */
function afterFault(attempt: number, known: RunTrial = UNTRIED, node: number): Decision {
  const trial: RunTrial = { ...known, on: undefined, pause: undefined, deaths: [...known.deaths, node] };
  const crashed = true;
  if (trial.deaths.length < MAX_DEATHS) return { what: "resume", attempt, crashed, trial };
  return { what: "fail", attempt, crashed, trial, message: FAULT_TEXT };
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
  trials.leave(record.id);
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

/**
 * Recovers the work that a restart finds. A run without an end resumes from its last step, is tried, or fails visibly
 * (M13), or is given up with the messages that waited, if the setting is `restore: "discard"`.
 */
import { CorruptDataError } from "../../../core/errors.ts";
import type { RunId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import { failRun } from "../../runs/loop.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { stopOf } from "../../subagents/tree.ts";
import type { ActorHost } from "../actor/actor-host.ts";
import { settle } from "../actor/inbox-steps.ts";
import type { InboxView } from "../actor/inbox-view.ts";
import type { RunDriver } from "../actor/run-driver.ts";
import { type Decision, decide } from "./decide.ts";
import { watchTrial } from "./on-trial.ts";
import { resumeRun, type Waking } from "./resume.ts";

/** The parts of an actor that recovery needs. */
export interface RecoveryParts {
  readonly host: ActorHost;
  readonly inbox: InboxView;
  readonly driver: RunDriver;
  /** Whether a fault of this process, which would come back, interrupted the run: that counts as a death (M13). */
  faulted: boolean;
  /** Whether the work found at the start is given up. */
  readonly discards: boolean;
  /** Waits for a time, or until the actor is woken. Does not wait if it was woken since this action began. */
  pause(ms: number): Promise<void>;
  /** Ends a pause. */
  wake(): void;
}

/** `waking`: what woke the run, if it was suspended. */
export async function recoverRun(
  parts: RecoveryParts,
  lease: AgentLease,
  runId: RunId,
  waking?: Waking,
): Promise<void> {
  const { host, driver } = parts;
  const record = await host.ports.store.run(runId);
  if (!record) throw new CorruptDataError(`Agent ${lease.agentId} names the run ${runId}, which does not exist.`);
  const interrupted = (record.body.node !== lease.node && !record.body.suspended) || parts.faulted;
  const decision = await decide(parts, lease, record);
  if (decision.what === "wait") return parts.pause(decision.ms);
  try {
    const place = await driver.enter(record.body.lane);
    try {
      await resumeAs(parts, lease, record, decision, interrupted, waking);
    } finally {
      place?.leave();
    }
  } finally {
    host.trials.leave(runId);
  }
}

async function resumeAs(
  parts: RecoveryParts,
  lease: AgentLease,
  record: RunRecord,
  decision: Exclude<Decision, { what: "wait" }>,
  interrupted: boolean,
  waking: Waking | undefined,
): Promise<void> {
  const { host, driver, inbox, discards } = parts;
  const { ports, trials } = host;
  const { attempt, crashed, trial } = decision;
  const tried = decision.what === "resume" && decision.tried ? trial : undefined;
  const run = await resumeRun(ports, lease, record, { attempt, crashed, trial, on: tried && trials.mark, waking });
  if (discards && interrupted) {
    const message = "The program was restarted; unfinished work is not taken up again (restore: discard).";
    await failRun(ports, lease, run, { kind: "internal", message });
    return;
  }
  if (decision.what === "fail") {
    await failRun(ports, lease, run, { kind: "attempts", message: decision.message });
    if (decision.note) await ports.watchdogNotes?.counted(decision.note);
    const { agentId } = lease;
    host.emit({ type: "settled", messages: run.body.seqs.map((seq) => ({ agentId, seq })) });
    return;
  }
  // Nothing begins under a stop, not even a run that a crash interrupted (M20).
  if (await stopOf(ports.store, lease.record)) run.end("stop");
  // A reset or a stop may have been accepted before the crash, or may have woken the run: then it starts nothing.
  await inbox.lookAtArrivals(run, lease);
  run.onStep = () => trials.leave(run.id);
  const stopWatching = tried && watchTrial(parts, lease, run, tried);
  try {
    await driver.drive(lease, run);
  } finally {
    stopWatching?.();
  }
}

/** Settles the messages that waited when the program started, and returns them. */
export async function discardWaiting(
  { ports, startedAt }: ActorHost,
  lease: AgentLease,
  waiting: readonly Message[],
): Promise<readonly Message[]> {
  const old = waiting.filter((message) => message.acceptedAt < startedAt);
  if (old.length > 0) await settle(ports, lease, "discard", old, "discarded", "restore: discard");
  return old;
}

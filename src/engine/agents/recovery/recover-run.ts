/**
 * What a restart does with the work it finds. A run without an end resumes from its last step, fails visibly after too
 * many crashes (M13), or is given up with the messages that waited, if the setting is `restore: "discard"`.
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
import type { Attempts, Count, Undecided } from "./attempts.ts";
import { resumeRun } from "./resume.ts";

/** What recovery needs of an actor. */
export interface RecoveryParts {
  readonly host: ActorHost;
  readonly inbox: InboxView;
  readonly driver: RunDriver;
  readonly attempts: Attempts;
  /** Whether a fault of this process, which would come back, interrupted the run: that counts as a crash (M13). */
  faulted: boolean;
  /** Whether the work found at the start is given up. */
  readonly discards: boolean;
  /** Waits for a time, or until the actor is woken. */
  pause(ms: number): Promise<void>;
}

export async function recoverRun(parts: RecoveryParts, lease: AgentLease, runId: RunId): Promise<void> {
  const { host, driver, inbox } = parts;
  const { ports, recoveryQueue } = host;
  const record = await ports.store.run(runId);
  if (!record) throw new CorruptDataError(`Agent ${lease.agentId} names the run ${runId}, which does not exist.`);
  // Another node stopped working on it, or this one had a fault. Trouble with the store alone does not count.
  const interrupted = record.body.node !== lease.node || parts.faulted;
  parts.faulted = false;
  // Runs that crashed before resume one after another, so that the one to blame crashes alone.
  const leaveQueue = interrupted && record.attempt > 1 ? await recoveryQueue.enter() : undefined;
  const place = await driver.enter(record.body.lane);
  try {
    const count = await countAttempts(parts, record, lease, interrupted);
    if ("waitMs" in count) {
      // Other runs need not wait for this one.
      place?.leave();
      leaveQueue?.();
      parts.faulted = record.body.node === lease.node;
      await parts.pause(count.waitMs);
      return;
    }
    const run = await resumeRun(ports, lease, record, count);
    if (parts.discards && interrupted) {
      const message = "The program was restarted; unfinished work is not taken up again (restore: discard).";
      await failRun(ports, lease, run, { kind: "internal", message });
      return;
    }
    if (run.attempt > ports.settings.maxAttempts) {
      const message = `This could not be finished: the program stopped ${ports.settings.maxAttempts} times while working on it.`;
      await failRun(ports, lease, run, { kind: "attempts", message });
      const { agentId } = lease;
      host.emit({ type: "settled", messages: run.body.seqs.map((seq) => ({ agentId, seq })) });
      return;
    }
    // Nothing begins under a stop, not even a run that a crash interrupted (M20).
    if (await stopOf(ports.store, lease.record)) run.end("stop");
    // A reset or a stop may have been accepted before the crash.
    void inbox.lookAtArrivals(run, lease.state);
    await driver.drive(lease, run, leaveQueue);
  } finally {
    place?.leave();
    leaveQueue?.();
  }
}

async function countAttempts(
  { attempts }: RecoveryParts,
  record: RunRecord,
  lease: AgentLease,
  interrupted: boolean,
): Promise<Count | Undecided> {
  const { attempt, body } = record;
  if (interrupted && !body.paused) return attempts.count(record, lease.node);
  return { attempt, suspectedNodes: body.blamed ?? [] };
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

/**
 * Counts the failed tries at handling a message and settles it after the last one, so that no message blocks its inbox
 * (M48, L14). A try counts only through its own commit: while the store is away, nothing is counted.
 */

import { shortened } from "../../../core/cut-text.ts";
import type { NewDelivery } from "../../../core/delivery/delivery.ts";
import { CorruptDataError, errorText, RookeryError } from "../../../core/errors.ts";
import type { FailedTries, Message, MessageKind } from "../../../core/message/message.ts";
import { sentence } from "../../../core/sentence.ts";
import type { Op } from "../../../core/store/change.ts";
import { chain, failedMessageEntry } from "../../context/entries.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { answerTo, noticesIn, opsOfEnd, settlement } from "./inbox-steps.ts";

/** How long a message rests after its first failure, its second, and its third. The next failure settles it. */
const RETRY_MS = [1_000, 10_000, 60_000] as const;

const MAX_REASON = 500;
const NO_ROOM: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EROFS"]);

/** Whether an error is due to the message itself. A refused commit, a full disk and a corrupt row say nothing about it. */
export function countsAsTry(error: unknown): boolean {
  // A stored text that is not JSON is as corrupt as one that has the wrong shape.
  if (error instanceof CorruptDataError || error instanceof SyntaxError) return false;
  if (error instanceof RookeryError) return !error.retryable && !OF_THE_STORE.has(error.code);
  return !(error instanceof Error && "code" in error && NO_ROOM.has(error.code));
}

/** Codes of errors that are not retryable and come from the store or from a refused commit. */
const OF_THE_STORE: ReadonlySet<string> = new Set([
  "commit_refused",
  "store_closed",
  "store_missing",
  "store_newer",
  "store_unreadable",
  "store_unsuitable",
]);

/** Counts one try for each message that waits. Returns those that were settled as failed. */
export async function countTry(
  ports: RunPorts,
  lease: AgentLease,
  messages: readonly Message[],
  error: unknown,
): Promise<readonly Message[]> {
  const reason = sentence(shortened(errorText(error), MAX_REASON));
  const { agentId } = lease;
  ports.log.error("a message could not be handled", {
    ...{ agent: agentId, messages: messages.map(({ seq }) => seq).join(), error: reason },
  });
  const isLast = ({ tried }: Message): boolean => (tried?.times ?? 0) >= RETRY_MS.length;
  const again = messages.filter((message) => !isLast(message));
  const at = ports.clock.now();
  if (again.length > 0)
    await lease.commit({ site: "message.tried", at, ops: again.map((one) => triedOp(one, reason, at)) });
  const failed = messages.filter(isLast);
  for (const message of failed) await settleFailed(ports, lease, message, reason);
  return failed;
}

function triedOp({ id: _i, agentId: _a, seq, state: _s, tried, ...message }: Message, reason: string, at: number): Op {
  const before = tried?.times ?? 0;
  const next: FailedTries = { times: before + 1, reason, nextAt: at + (RETRY_MS[before] ?? 0) };
  return { op: "message.tried", seq, message: { ...message, tried: next } };
}

/** One commit: the end of the message, an entry, and what its person reads. Without the other two if that fails. */
async function settleFailed(ports: RunPorts, lease: AgentLease, message: Message, reason: string): Promise<void> {
  const settle: Op = { op: "message.settle", settlements: [settlement(message, "failed", reason)] };
  try {
    const also = await opsOfEnd(ports, lease, [message], { state: "failed", reason });
    const deliveries = failureOf(ports, lease, message, reason);
    const added = deliveries.map((delivery): Op => ({ op: "delivery.add", delivery }));
    // An open run has calls without results: no entry may come between them.
    const entry = failedMessageEntry(message, reason, ports.clock.now());
    const append = lease.runId ? undefined : chain(ports.ids, lease, [entry]);
    const { results } = await lease.commit({ site: "message.failed", ops: [...added, settle, ...also], append });
    ports.onDeliveries(deliveries, results);
    ports.posted(results.flatMap((one) => (one?.op === "message.post" ? [one] : [])));
    ports.onAddedOps?.(also);
  } catch (error) {
    if (!countsAsTry(error)) throw error;
    ports.log.error("could not report that a message failed", { agent: lease.agentId, error: errorText(error) });
    await lease.commit({ site: "message.failed", ops: [settle] });
  }
}

/** Names a failed message in the notice about it. A person knows their own. */
const CALLED: Partial<Record<MessageKind, string>> = {
  report: "The report of a sub-agent",
  system: "A message to the agent",
  trigger: "The event of a webhook",
};

/**
 * The failure goes where the answer would have gone, whoever wrote the message; a notice is sent as it is. The slot of a schedule
 * counts its failure, and the job tells its person.
 */
function failureOf(ports: RunPorts, lease: AgentLease, message: Message, reason: string): readonly NewDelivery[] {
  const { body } = message;
  if (body.kind === "trigger" && body.trigger.type !== "webhook") return [];
  const notices = noticesIn(ports, lease, [message]);
  if (notices.length > 0) return notices;
  const tries = `It was tried ${RETRY_MS.length + 1} times and is not tried again.`;
  return answerTo(ports, lease, message, {
    text: `⚠️ ${CALLED[body.kind] ?? "This"} could not be handled: ${reason} ${tries}`,
  });
}

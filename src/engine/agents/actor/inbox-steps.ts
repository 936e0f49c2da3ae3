/**
 * Settles messages that need no run. Each function is one commit; the messages it settles leave the waiting
 * state in that commit, with the reason as their trace (L1, M4).
 */

import { patchState } from "../../../core/agent/patch-state.ts";
import type { NewDelivery } from "../../../core/delivery/delivery.ts";
import type { RunId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { Op, Settlement } from "../../../core/store/change.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import { claimedFor } from "../../commit/submit.ts";
import { chain, messageEntries } from "../../context/entries.ts";
import { createDeliveries } from "../../outbox/create-deliveries.ts";
import { onBehalf } from "../../people/on-behalf.ts";
import { runBehalf, withSpeakers } from "../../people/run-behalf.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { belongingOf } from "../../runtime/belonging.ts";
import type { AnsweredCommand, RunPorts } from "../../runtime/run-ports.ts";

export const STOPPED_TEXT = "⚙️ Agent was aborted.";
export const NOTHING_TO_STOP_TEXT = "No active inference to stop.";
/** The answer to a stop. */
export const stoppedText = (children: number): string =>
  children === 0 ? STOPPED_TEXT : `${STOPPED_TEXT} Stopped ${children} sub-agent${children === 1 ? "" : "s"}.`;

export const settlement = ({ seq }: Message, state: Settlement["state"], reason?: string): Settlement => ({
  seq,
  from: "waiting",
  state,
  reason,
});

/** Settles messages that need no run, or never get one. The same commit reports to a requester that waits for such a run. */
export async function settle(
  ports: RunPorts,
  lease: AgentLease,
  site: CommitSite,
  messages: readonly Message[],
  state: Settlement["state"],
  reason: string,
): Promise<void> {
  const settlements = messages.map((message) => settlement(message, state, reason));
  const behalf = runBehalf(await belongingOf(ports, lease), messages);
  const also = onBehalf(
    { agent: lease.record, behalf },
    (await ports.opsOnSettle?.(lease.record, messages, reason)) ?? [],
  );
  const ops: Op[] = [{ op: "message.settle", settlements }, ...claimedFor(also, lease.node)];
  const { results } = await lease.commit({ site, ops });
  ports.posted(results.flatMap((one) => (one?.op === "message.post" ? [one] : [])));
  ports.onAddedOps?.(also);
}

/** Writes silent messages to history. They wake no agent. */
export async function recordSilent(
  ports: RunPorts,
  lease: AgentLease,
  messages: readonly Message[],
  reason = "silent",
): Promise<void> {
  const settlements = messages.map((message) => settlement(message, "recorded", reason));
  const append = chain(ports.ids, lease, messageEntries(messages));
  const { own } = await belongingOf(ports, lease);
  const state = withSpeakers(own, lease.state, messages);
  await lease.commit({ site: "record", ops: [{ op: "message.settle", settlements }], append, state });
}

/** Answers a stop: it ended the last run, or there was none. The agent's children are stopped in the same commit. */
export async function settleStop(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  const [run] = await ports.store.runs(lease.agentId, { limit: 1 });
  const ended = run?.outcome === "aborted" && (run.endedAt ?? 0) >= message.acceptedAt;
  const { ops, stopped } = (await ports.stopChildren?.(lease.record)) ?? { ops: [], stopped: 0 };
  const reason = ended ? `stopped run ${run.id}` : "no run to stop";
  const text = ended || stopped > 0 ? stoppedText(stopped) : NOTHING_TO_STOP_TEXT;
  const also = claimedFor(ops, lease.node);
  await settleCommand(ports, lease, message, { site: "stop", reason, text }, { ops: also });
}

/** About the agent's children. */
async function answerAboutChildren(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  if (message.body.kind !== "subagents") return;
  const { command } = message.body;
  const { text, ops } = (await ports.aboutChildren?.(lease.record, command)) ?? { text: "No children.", ops: [] };
  const also = claimedFor(ops, lease.node);
  const reason = "answered about children";
  await settleCommand(ports, lease, message, { site: "subagents", reason, text }, { ops: also });
}

/** Answers a question or a command that needs no run, at rest or between two steps of one. */
export async function answerQuestion(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  if (message.body.kind === "subagents") return answerAboutChildren(ports, lease, message);
  if (message.body.kind !== "command") return;
  const agent = { ...lease.record, state: lease.state };
  const { text, patch, ops = [], rights } = (await ports.answerCommand?.(agent, message)) ?? NO_COMMANDS;
  const state = patch && patchState(lease.state, patch, ports.clock.now());
  const also = claimedFor(onBehalf({ agent, behalf: message.behalf }, ops), lease.node);
  const reason = `answered /${message.body.name}`;
  await settleCommand(ports, lease, message, { site: "command", reason, text }, { ops: also, state, rights });
  if (ops.length > 0) ports.onToolOps?.(ops);
}

const NO_COMMANDS: AnsweredCommand = { text: "⚙️ There are no commands here." };

type Beside = Partial<Pick<Parameters<AgentLease["commit"]>[0], "ops" | "append" | "state" | "begins" | "rights">>;

/**
 * Settles a person's command and adds the delivery of its answer, in one commit. A sender without an address for deliveries
 * reads the answer from the message: then it is the reason.
 */
export async function settleCommand(
  ports: RunPorts,
  lease: AgentLease,
  message: Message,
  { site, reason, text }: { site: CommitSite; reason: string; text: string },
  beside: Beside = {},
): Promise<void> {
  const deliveries = answerTo(ports, lease, message, text);
  const ops: Op[] = [
    ...deliveries.map((delivery): Op => ({ op: "delivery.add", delivery })),
    { op: "message.settle", settlements: [settlement(message, "recorded", message.delivery ? reason : text)] },
    ...(beside.ops ?? []),
  ];
  const { results } = await lease.commit({ site, ...beside, ops });
  ports.onDeliveries(deliveries, results);
  ports.posted(results.flatMap((one) => (one?.op === "message.post" ? [one] : [])));
}

function answerTo(ports: RunPorts, lease: AgentLease, message: Message, text: string): readonly NewDelivery[] {
  if (!message.delivery) return [];
  const { agentId } = lease;
  // A command has no run; the position of its message makes the delivery's id.
  const runId = `command-${agentId}-${message.seq}` as RunId;
  const at = ports.clock.now();
  return createDeliveries(
    {
      agentId,
      profile: lease.record.profile,
      runId,
      ordinal: 0,
      at,
      target: message.delivery,
      person: message.behalf?.person,
      connectors: ports.connectors,
    },
    { text },
  );
}

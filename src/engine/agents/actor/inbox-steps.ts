/**
 * Settles messages that need no run. Each function is one commit; the messages it settles leave the waiting
 * state in that commit, with the reason as their trace (L1, M4).
 */

import { patchState } from "../../../core/agent/patch-state.ts";
import type { AgentState } from "../../../core/agent/state.ts";
import { deliveryId, type NewDelivery, type Payload } from "../../../core/delivery/delivery.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { RunId } from "../../../core/ids.ts";
import { type Message, messageText } from "../../../core/message/message.ts";
import { type ApprovalId, isUsable } from "../../../core/rights/approval.ts";
import type { Op, Settlement } from "../../../core/store/change.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import { claimedFor } from "../../commit/submit.ts";
import { chain, messageEntries } from "../../context/entries.ts";
import { NOTICE_COMMAND, owedNotice } from "../../outbox/around-reply.ts";
import { createDeliveries } from "../../outbox/create-deliveries.ts";
import { onBehalf } from "../../people/on-behalf.ts";
import { runBehalf, withSpeakers } from "../../people/run-behalf.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { belongingOf } from "../../runtime/belonging.ts";
import type { AnsweredCommand, RunPorts, Settled } from "../../runtime/run-ports.ts";

const STOPPED_TEXT = "⚙️ Agent was aborted.";
const NOTHING_TO_STOP_TEXT = "No active inference to stop.";
/** The answer to a stop. */
const stoppedText = (children: number): string =>
  children === 0 ? STOPPED_TEXT : `${STOPPED_TEXT} Stopped ${children} sub-agent${children === 1 ? "" : "s"}.`;

export const settlement = ({ seq }: Message, state: Settlement["state"], reason?: string): Settlement => ({
  seq,
  from: "waiting",
  state,
  reason,
});

/**
 * Settles messages that need no run, or never get one. The same commit reports to a requester that waits for such a run, and sends
 * the notices among them: they are for a person, whatever becomes of the agent.
 */
export async function settle(
  ports: RunPorts,
  lease: AgentLease,
  site: CommitSite,
  messages: readonly Message[],
  state: Settlement["state"],
  reason: string,
): Promise<void> {
  const settlements = messages.map((message) => settlement(message, state, reason));
  const also = await opsOfEnd(ports, lease, messages, { state, reason });
  const notices = noticesIn(ports, lease, messages);
  const added = notices.map((delivery): Op => ({ op: "delivery.add", delivery }));
  const { results } = await lease.commit({ site, ops: [...added, { op: "message.settle", settlements }, ...also] });
  ports.onDeliveries(notices, results);
  ports.posted(results.flatMap((one) => (one?.op === "message.post" ? [one] : [])));
  ports.onAddedOps?.(also);
}

/** The ops that tell whoever waits for a run of these messages that there is none. */
export async function opsOfEnd(
  ports: RunPorts,
  lease: AgentLease,
  messages: readonly Message[],
  settled: Settled,
): Promise<readonly Op[]> {
  const behalf = runBehalf(await belongingOf(ports, lease), messages);
  const ops = (await ports.opsOnSettle?.(lease.record, messages, settled)) ?? [];
  return claimedFor(onBehalf({ agent: lease.record, behalf }, ops), lease.node);
}

/** Writes silent messages to history. They wake no agent. A notice is sent to the person in the same commit. */
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
  const deliveries = noticesIn(ports, lease, messages);
  const ops: Op[] = [
    ...deliveries.map((delivery): Op => ({ op: "delivery.add", delivery })),
    { op: "message.settle", settlements },
  ];
  const { results } = await lease.commit({ site: "record", ops, append, state });
  ports.onDeliveries(deliveries, results);
}

/** The deliveries of the notices among messages. */
export const noticesIn = (ports: RunPorts, lease: AgentLease, messages: readonly Message[]): readonly NewDelivery[] =>
  messages.flatMap((message) =>
    message.body.kind === "system" && message.body.said === "notice"
      ? answerTo(ports, lease, message, { text: message.body.text })
      : [],
  );

/**
 * Settles a late yes that cannot be used any more: its call was executed by a run that waited for it, or was withdrawn. Agent and
 * person read that (M31). False for any other message.
 */
export async function settleSpentYes(
  ports: RunPorts,
  lease: AgentLease,
  message: Message | undefined,
): Promise<boolean> {
  if (message?.body.kind !== "permission" || message.body.approval === undefined) return false;
  const approval = await ports.store.approval(message.body.approval as ApprovalId);
  if (isUsable(approval, ports.clock.now())) return false;
  if (approval?.state === "used") {
    await settle(ports, lease, "settle", [message], "recorded", "its call was executed");
    return true;
  }
  const why =
    approval?.state === "withdrawn"
      ? `was withdrawn${approval.reason ? `: ${approval.reason}` : ""}`
      : "was given too long ago";
  const text = `Not executed: approval ${message.body.approval} ${why}.`;
  await recordEnd(ports, lease, { ...message, body: { ...message.body, text } });
  return true;
}

/**
 * Records the end of a question that no run waits for. The person of the call gets a message, unless it was their own answer.
 * The agent reads it too, unless its run waits for another answer: history then ends with the open call.
 */
export async function recordEnd(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  const { body, behalf } = message;
  const by = body.kind === "permission" && !body.approved ? body.by : undefined;
  const text = messageText(body);
  const deliveries = text === "" || by === behalf?.person ? [] : answerTo(ports, lease, message, { text });
  const ops: Op[] = [
    ...deliveries.map((delivery): Op => ({ op: "delivery.add", delivery })),
    { op: "message.settle", settlements: [settlement(message, "recorded", "no run waited for it")] },
  ];
  const append = lease.suspended ? undefined : chain(ports.ids, lease, messageEntries([message]));
  const { results } = await lease.commit({ site: "record", ops, append });
  ports.onDeliveries(deliveries, results);
}

/** Answers a stop: it ended the last run, or there was none. The agent's children are stopped in the same commit. */
export async function settleStop(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  const [run] = await ports.store.runs(lease.agentId, { limit: 1 });
  const ended = run?.outcome === "aborted" && (run.endedAt ?? 0) >= message.acceptedAt;
  const { ops, stopped } = (await ports.stopChildren?.(lease.record)) ?? { ops: [], stopped: 0 };
  const reason = ended ? "stopped the run" : "no run to stop";
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
  if (message.body.name === NOTICE_COMMAND) return settleNotice(ports, lease, message);
  const agent = { ...lease.record, state: lease.state };
  const { text, patch, ops = [], rights } = (await ports.answerCommand?.(agent, message)) ?? NO_COMMANDS;
  const also = claimedFor(onBehalf({ agent, behalf: message.behalf }, ops), lease.node);
  const reason = `answered /${message.body.name}`;
  await settlePatch(ports, lease, message, { site: "command", reason, text }, { ops: also, patch, rights });
  if (ops.length > 0) ports.onToolOps?.(ops);
}

/** Makes the notice that an answer is unconfirmed, unless an answer said it first (M46). */
async function settleNotice(ports: RunPorts, lease: AgentLease, message: Message): Promise<void> {
  const owed = message.delivery && (await owedNotice(ports, message.delivery));
  if (!owed) return settle(ports, lease, "command", [message], "recorded", "the notice was not needed any more");
  const payload = { text: owed.text, notice: true } as const;
  await settleCommand(
    ports,
    lease,
    message,
    { site: "command", reason: "noticed", ...payload },
    { ops: [owed.noticedBy(deliveryId(commandRun(message), 0))] },
  );
}

const NO_COMMANDS: AnsweredCommand = { text: "⚙️ There are no commands here." };

/** Settles a command that changes settings. With a wrong value it changes nothing, and the answer names the allowed values. */
export async function settlePatch(
  ports: RunPorts,
  lease: AgentLease,
  message: Message,
  answer: { site: CommitSite; reason: string; text: string },
  { patch, ...beside }: Omit<Beside, "state"> & { readonly patch?: Readonly<Record<string, unknown>> },
): Promise<void> {
  let state: AgentState | undefined;
  try {
    state = patch && patchState(lease.state, patch, ports.clock.now());
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    const reason = `${error.message} Nothing was changed.`;
    return settleCommand(ports, lease, message, { site: "setting.wrong", reason, text: `⚙️ ${reason}` });
  }
  await settleCommand(ports, lease, message, answer, { ...beside, state });
}

type Beside = Partial<Pick<Parameters<AgentLease["commit"]>[0], "ops" | "append" | "state" | "begins" | "rights">>;

/**
 * Settles a person's command and adds the delivery of its answer, in one commit. A sender without an address for deliveries
 * reads the answer from the message: then it is the reason.
 */
export async function settleCommand(
  ports: RunPorts,
  lease: AgentLease,
  message: Message,
  { site, reason, text, notice }: { site: CommitSite; reason: string; text: string; notice?: true },
  beside: Beside = {},
): Promise<void> {
  const deliveries = answerTo(ports, lease, message, { text, notice });
  // Deliveries that it moves come before its own, so that the outbox reads them from the store.
  const ops: Op[] = [
    ...(beside.ops ?? []),
    ...deliveries.map((delivery): Op => ({ op: "delivery.add", delivery })),
    { op: "message.settle", settlements: [settlement(message, "recorded", message.delivery ? reason : text)] },
  ];
  const { results } = await lease.commit({ site, ...beside, ops });
  ports.onDeliveries(deliveries, results);
  ports.posted(results.flatMap((one) => (one?.op === "message.post" ? [one] : [])));
}

/** A command or a notice has no run; the position of its message makes the delivery's id. */
const commandRun = ({ agentId, seq }: Message): RunId => `command-${agentId}-${seq}` as RunId;

/** The delivery of an answer to a message; none if it names no address. */
export function answerTo(
  ports: RunPorts,
  lease: AgentLease,
  message: Message,
  payload: Payload,
): readonly NewDelivery[] {
  if (!message.delivery) return [];
  const { agentId } = lease;
  const runId = commandRun(message);
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
    payload,
  );
}

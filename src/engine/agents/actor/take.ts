/**
 * Takes messages from the inbox into a run. One commit opens the run, takes its messages and settles those that the queue
 * dropped (M1, M8). The same commit writes the prompt, with a line for each dropped message. A late yes opens a run that executes
 * its call; the same commit uses the yes up (M31).
 */

import type { Settings } from "../../../config/settings.ts";
import type { RunId, SessionId } from "../../../core/ids.ts";
import { type Message, overridesOf } from "../../../core/message/message.ts";
import { type ApprovalId, isUsable } from "../../../core/rights/approval.ts";
import { type RunBody, saidIn } from "../../../core/run/run.ts";
import type { Op } from "../../../core/store/change.ts";
import { CommitRefused } from "../../commit/commit-refused.ts";
import {
  chain,
  type EntryDraft,
  entryText,
  messageEntries,
  promptEntry,
  resetMarker,
  type SpeakerLine,
} from "../../context/entries.ts";
import {
  buildCollectPrompt,
  buildQueueSummaryPrompt,
  COLLECT_REPORTS_TITLE,
  COLLECT_TITLE,
} from "../../inbox/collect-prompt.ts";
import type { Choice } from "../../inbox/decide.ts";
import { rootedBehalf, runBehalf, withSpeakers } from "../../people/run-behalf.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import { belongingOf } from "../../runtime/belonging.ts";
import { LiveRun, runTimeOf } from "../../runtime/live-run.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { settlement } from "./inbox-steps.ts";
import { speakersOf } from "./speakers.ts";

export type RunChoice = Extract<Choice, { act: "run" }>;

/**
 * Opens the run. `seen`: the newest message that was read. If a reset came after it, nothing is taken and the refusal is
 * thrown as `CommitRefused` with `conflict`.
 */
export async function takeRun(
  ports: RunPorts,
  lease: AgentLease,
  runId: RunId,
  choice: RunChoice,
  seen: number,
  settings: Settings,
): Promise<LiveRun> {
  const { messages, dropped, summarize } = choice;
  const at = ports.clock.now();
  const last = messages.at(-1) as Message;
  const seqs = messages.map((message) => message.seq);
  const session = await ports.sessionFor?.({ ...lease.record, state: lease.state }, messages);
  const belonging = await belongingOf(ports, { record: lease.record, state: session ?? lease.state });
  // A dropped message that leaves a line in the prompt is read too.
  const read = [...summarize, ...messages];
  const late = await lateCall(ports, lease, runId, last);
  const body: RunBody = {
    lane: lease.lane,
    node: lease.node,
    seqs,
    merged: seqs.length > 1 ? seqs.slice(0, -1) : undefined,
    humanAt: lastHumanTime(messages),
    person: messages.map(writerOf).findLast((person) => person !== undefined),
    behalf: rootedBehalf(runId, belonging, read),
    said: saidOf(messages),
    // The run answers where its last message came from.
    delivery: last.delivery ?? late?.delivery,
    replyToId: last.source?.messageId,
    wishes: overridesOf(last.body),
    trigger: last.body.kind === "trigger" ? last.body.trigger : undefined,
    compact: last.body.kind === "compact" ? { instructions: last.body.instructions || undefined } : undefined,
    calls: late ? [late.call] : [],
    late: late?.call.approval,
    iterations: 0,
    deliveries: 0,
  };
  const begins = session && (ports.ids.uuid() as SessionId);
  const state = withSpeakers(belonging.own, session ?? lease.state, read) ?? session;
  const ops: Op[] = [
    // First, so that the run belongs to the new session.
    ...(begins ? [{ op: "session.begin", sessionId: begins } as const] : []),
    {
      op: "message.settle",
      settlements: dropped.map(({ message, policy }) => ({ ...settlement(message, "dropped", policy), runId })),
    },
    { op: "message.take", runId, seqs, unlessResetAfter: seen },
    { op: "run.open", runId, body },
    ...(late ? [late.use] : []),
  ];
  const marker = begins ? [resetMarker(begins, at)] : [];
  const speakers = await speakersOf(ports, belonging.own, read);
  const append = chain(ports.ids, lease, [...marker, ...(late ? [] : entriesOf(choice, at, runId, speakers))]);
  await lease.commit({ site: "take", at, ops, append, state, begins });
  lease.runId = runId;
  const { agentId, sessionId } = lease;
  const limits = runTimeOf(settings, lease.record, body.wishes);
  return new LiveRun({ id: runId, agentId, sessionId, startedAt: at, step: 1, attempt: 1, body }, settings, limits);
}

/** The call that a late yes executes, under an id of its own. Undefined for other messages, and for a yes of an earlier version. */
async function lateCall(
  ports: RunPorts,
  { record: agent }: AgentLease,
  runId: RunId,
  { body, behalf, delivery }: Message,
) {
  if (body.kind !== "permission" || body.approval === undefined) return undefined;
  const approval = await ports.store.approval(body.approval as ApprovalId);
  if (!isUsable(approval, ports.clock.now())) {
    throw new CommitRefused("conflict", `Approval ${body.approval} cannot be used any more.`);
  }
  const { id, tool: name, arguments: given, digest } = approval;
  const replay = ports.tools.find(agent, name)?.replay ?? "safe";
  const callId = ports.ids.uuid();
  const call = { callId, name, arguments: given, replay, state: "asked", approval: id, late: true } as const;
  const use: Op = { op: "approval.use", id, digest, by: { runId, callId } };
  return { call, use, delivery: delivery ?? (behalf && (await ports.approvals?.outcomeAt(behalf))) };
}

function entriesOf(
  { messages, collected, joined, summarize, cap }: RunChoice,
  at: number,
  runId: RunId,
  speakers: SpeakerLine | undefined,
): readonly EntryDraft[] {
  const summary = summarize.length > 0 ? buildQueueSummaryPrompt(summarize, cap) : undefined;
  if (collected) {
    const texts = messageEntries(messages, undefined, speakers).map(entryText);
    const title = messages.every(({ body }) => body.kind === "report") ? COLLECT_REPORTS_TITLE : COLLECT_TITLE;
    return [promptEntry(buildCollectPrompt({ title, texts, summary }), messages, at, runId)];
  }
  if (joined) {
    // One person said it: the line about who speaks stands once.
    const texts = messageEntries(
      messages,
      undefined,
      speakers && ((one) => (one === messages[0] ? speakers(one) : undefined)),
    );
    const prompt = [summary ?? [], texts.map(entryText)].flat().join("\n");
    return [promptEntry(prompt, messages, at, runId)];
  }
  // The summary is an additional entry.
  return [...(summary ? [promptEntry(summary, [], at, runId)] : []), ...messageEntries(messages, runId, speakers)];
}

/** Written by a person, not the task of a child. */
const isFromPerson = ({ body, source }: Message): boolean => body.kind === "user" && source !== undefined;

/** How many messages are from people, if that does not follow from the run's other fields. */
function saidOf(messages: readonly Message[]): number | undefined {
  const said = messages.filter(isFromPerson).length;
  const follows = saidIn({ humanAt: lastHumanTime(messages), seqs: messages.map(({ seq }) => seq) });
  return said === follows ? undefined : said;
}

/** When the newest message of a person was accepted. Triggers, heartbeats and system messages do not count. */
function lastHumanTime(messages: readonly Message[]): number | undefined {
  const times = messages.filter(({ body }) => body.kind === "user").map(({ acceptedAt }) => acceptedAt);
  return times.length === 0 ? undefined : Math.max(...times);
}

/** The person who wrote a message, or for an agent's message the person it works for, as `connector:id`. */
function writerOf({ body, source }: Message): string | undefined {
  if (body.kind === "user" && body.sender && source) return `${source.connector}:${body.sender.id}`;
  return "person" in body ? body.person : undefined;
}

/** Takes messages into a run between two steps. Committed before the next model call is built (M8). */
export async function steerInto(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  messages: readonly Message[],
): Promise<void> {
  const seqs = messages.map((message) => message.seq);
  const belonging = await belongingOf(ports, lease);
  const behalf = runBehalf(belonging, messages, run.body.behalf);
  const said = saidIn(run.body) + messages.filter(isFromPerson).length;
  const body: RunBody = { ...run.body, seqs: [...run.body.seqs, ...seqs], behalf, said };
  const ops: Op[] = [
    { op: "message.take", runId: run.id, seqs },
    { op: "run.step", runId: run.id, body },
  ];
  const speakers = await speakersOf(ports, belonging.own, messages);
  const append = chain(ports.ids, lease, messageEntries(messages.map(withId), run.id, speakers));
  const state = withSpeakers(belonging.own, lease.state, messages);
  await lease.commit({ site: "steer", ops, append, state, run: run.guard() });
  run.stepped(body);
}

/** Adds the message's id to a steering text, so that the model can tell it from the message it works on. */
function withId(message: Message): Message {
  const id = message.source?.messageId;
  if (message.body.kind !== "user" || !id) return message;
  return { ...message, body: { ...message.body, text: `${message.body.text}\n[message_id: ${id}]` } };
}

/**
 * Ends a run in one commit: its last entries, its deliveries, its messages settled, its outcome, the agent's state, and the
 * agent's release if nothing waits. A crash before this commit resumes the run; a crash after it does not.
 */

import type { AgentState } from "../../core/agent/state.ts";
import { defined } from "../../core/defined.ts";
import type { DeliveryContext, NewDelivery, Payload } from "../../core/delivery/delivery.ts";
import type { CompactResult } from "../../core/run/compact-result.ts";
import type { CallRecord, RunBody, RunError, RunOutcome, RunResult } from "../../core/run/run.ts";
import { runResult } from "../../core/run/run.ts";
import type { CommitResult, Op, Settlement } from "../../core/store/change.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import { isOutdated } from "../commit/commit-refused.ts";
import { claimedFor } from "../commit/submit.ts";
import { callEntry, chain, entryText, untagged } from "../context/entries.ts";
import { type AroundReply, aroundReply, type OwedNotice, owedNotice } from "../outbox/around-reply.ts";
import {
  after,
  createDeliveries,
  createReplyDeliveries,
  type DeliveryDraft,
  forSlot,
  suppressed,
  withRoutes,
} from "../outbox/create-deliveries.ts";
import { onBehalf } from "../people/on-behalf.ts";
import { type AgentLease, type Committing, givesBack } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { Reply, RunPorts } from "../runtime/run-ports.ts";
import { applySendPolicy, applySendPolicyToOps } from "./apply-send-policy.ts";
import { NOT_STARTED, textOutput, UNKNOWN_OUTCOME } from "./call-tool.ts";
import { auditUnknown } from "./intend.ts";

type EntryDrafts = Parameters<typeof chain>[2];

export interface Ending {
  readonly site: CommitSite;
  readonly outcome: RunOutcome;
  readonly entries: EntryDrafts;
  readonly state?: AgentState;
  /** The answer, or the text of the error. Absent: nothing is sent. */
  readonly payload?: Payload;
  /** Further texts of the answer, each a delivery of its own behind the payload. */
  readonly more?: readonly string[];
  /** The payload is less than the model said: it is kept as the answer. */
  readonly isShortened?: boolean;
  /** The thoughts of the model before its answer. */
  readonly reasoning?: string;
  readonly error?: RunError;
  /** Committed with this end only, not with another that replaces it. */
  readonly also?: readonly Op[];
  readonly stopReason?: string;
  readonly compaction?: CompactResult;
  /** The answer, if the last line of history need not be it. */
  readonly answer?: Payload;
  /** Calls that the caller executes. They have no result yet. */
  readonly callerCalls?: RunBody["pendingToolCalls"];
}

const SETTLED: Readonly<Record<RunOutcome, Settlement["state"]>> = {
  ok: "answered",
  error: "failed",
  timeout: "failed",
  lost: "failed",
  aborted: "aborted",
};

export async function finish(ports: RunPorts, lease: AgentLease, run: LiveRun, ending: Ending): Promise<RunResult> {
  ports.watchdog?.note(run, "end");
  // A trigger answers no one, and a heartbeat compares its text with the last one. The notice follows it.
  const answersTo = ending.payload && !run.body.trigger ? run.body.delivery : undefined;
  const notice = answersTo && (await owedNotice(ports, answersTo));
  if (!notice) return commitEnd(ports, lease, run, ending);
  try {
    return await commitEnd(ports, lease, run, ending, notice);
  } catch (error) {
    // An answer of another agent to the same chat has said it in between. The answer itself does not depend on it.
    if (!isOutdated(error)) throw error;
    return commitEnd(ports, lease, run, ending);
  }
}

async function commitEnd(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  ending: Ending,
  notice?: OwedNotice,
): Promise<RunResult> {
  const at = ports.clock.now();
  const pending = run.openCalls;
  const orphans = pending.map((call) => orphanOf(call, run, at));
  const { replyToId } = run.body;
  const late = await lateOutcome(lease, run, ending, orphans);
  const payload = ending.payload && {
    ...ending.payload,
    ...defined({ replyToId, unanswered: unansweredOf(run, ending) }),
  };
  const agent = { ...lease.record, state: ending.state ?? lease.state };
  const reply =
    payload && !payload.isError
      ? await ports.replyOf?.(agent, run, { payload, reasoning: ending.reasoning ?? "" })
      : undefined;
  const { reasoning } = ending;
  const around = aroundReply(agent.state, { reasoning, usage: run.body.usage, sessionKey: agent.sessionKey });
  const { owed, words } = repliesOf(
    ports,
    run,
    { reply, around, opening: notice?.text, profile: agent.profile, more: ending.more, late },
    payload,
    at,
  );
  const deliveries = forSlot(run.body.trigger, applySendPolicy(ports.settings.current.session.sendPolicy, agent, owed));
  const opened = deliveries.find(({ ended }) => !ended);
  const body: RunBody = {
    ...run.body,
    calls: [],
    deliveries: run.body.deliveries + deliveries.length,
    lastPos: lease.nextPos + orphans.length + ending.entries.length - 1,
    error: ending.error,
    stopReason: ending.stopReason,
    callerTurn: undefined,
    answer: ending.answer ?? late ?? answerToKeep(ending),
    compaction: ending.compaction,
    pendingToolCalls:
      pending.length === 0
        ? ending.callerCalls
        : pending.map(({ callId: id, name, arguments: args }) => ({ id, name, arguments: args })),
    systemPromptReport: run.setup?.report,
  };
  const ops: Op[] = [
    ...deliveries.map((delivery): Op => ({ op: "delivery.add", delivery })),
    ...(notice && opened ? [notice.noticedBy(opened.id)] : []),
    { op: "message.settle", settlements: settlementsOf(run, ending) },
    { op: "run.end", runId: run.id, body, outcome: ending.outcome },
    ...auditUnknown(ports, agent, run, startedOf(pending), at),
    ...(ending.also ?? []),
  ];
  // The run of a schedule, or of a message that another person wrote, does not change the person's last address.
  const { trigger, delivery, person } = run.body;
  const isRoute = !trigger && delivery && ports.setsRoute(agent, person, delivery);
  const routing = isRoute ? routingFacts(delivery) : undefined;
  const state: AgentState = {
    ...agent.state,
    updatedAt: at,
    lastInteractionAt: run.body.humanAt ?? agent.state.lastInteractionAt,
    abortedLastRun: ending.outcome === "aborted",
    ...routing,
    ...(words && reply?.stateFor?.(words)),
  };
  const append = chain(ports.ids, lease, [...orphans, ...ending.entries]);
  // The mark was acknowledged, so the run must end as aborted, even if another mark came later (M9).
  const evenAborted = ending.outcome === "aborted";
  const result = runResult({ ...run.identity, endedAt: at, outcome: ending.outcome, body }, append.entries.at(-1));
  const committing = { site: ending.site, at, ops, append, state, run: run.guard(evenAborted) };
  const { results, also } = await commitWithOthers(lease, committing, async () => {
    const others = onBehalf(
      { agent, behalf: run.body.behalf },
      (await ports.opsOnRunEnd?.(agent, run, result, deliveries)) ?? [],
    );
    const { sendPolicy } = ports.settings.current.session;
    return applySendPolicyToOps(sendPolicy, agent, withRoutes(others, ports.connectors, agent.profile));
  });
  lease.released = givesBack(results);
  lease.runId = undefined;
  run.state = "ended";
  ports.onDeliveries(
    [...deliveries, ...also.flatMap((op) => (op.op === "delivery.add" ? [op.delivery] : []))],
    results,
  );
  ports.posted(results.flatMap((one) => (one?.op === "message.post" ? [one] : [])));
  ports.onAddedOps?.(also);
  return result;
}

/** Names the messages of a failed run in the report of its error. */
function unansweredOf({ body: { seqs } }: LiveRun, { payload, outcome, error }: Ending): Payload["unanswered"] {
  return payload?.isError ? { seqs, state: SETTLED[outcome], reason: error?.message } : undefined;
}

const startedOf = (calls: readonly CallRecord[]) => calls.filter(({ state }) => state === "intended");

/** The result of a call that has none, because providers refuse a history with such calls (M9). */
function orphanOf(call: LiveRun["openCalls"][number], { id }: LiveRun, at: number) {
  const text = call.state === "intended" ? UNKNOWN_OUTCOME : NOT_STARTED;
  return callEntry(call, textOutput(text, true), at, id);
}

/** The outcome of a call that a late yes executed, if the run ends without a model that could report it (M31). */
async function lateOutcome(
  lease: AgentLease,
  { id, body }: LiveRun,
  { outcome }: Ending,
  orphans: EntryDrafts,
): Promise<Payload | undefined> {
  if (body.late === undefined || outcome === "ok" || outcome === "aborted") return undefined;
  const entries = [...(await lease.path()), ...orphans];
  const entry = entries.find((one) => one.type === "message" && one.role === "user" && one.runId === id);
  return entry && { text: untagged(entryText(entry)) };
}

/** How the run's messages end. */
function settlementsOf({ id: runId, body: { seqs, merged } }: LiveRun, { outcome, error }: Ending): Settlement[] {
  return seqs.map((seq) => {
    const state = outcome === "ok" && merged?.includes(seq) ? "merged" : SETTLED[outcome];
    return { seq, from: "taken", state, runId, reason: error?.message };
  });
}

/** Undefined if the error or the last line of history is the answer; null if the error is not reported. */
function answerToKeep({ payload, more = [], isShortened, error, compaction }: Ending): Payload | null | undefined {
  if (!payload) return error ? null : undefined;
  if (isShortened && !error) return { text: [payload.text, ...more].join("\n\n") };
  return compaction && !error ? payload : undefined;
}

const TRIES = 3;

/**
 * Commits the end with the ops of the hooks. Those may name something that no longer exists at the commit. The hooks are
 * then called again, so that they cannot keep the run from ending.
 */
async function commitWithOthers(
  lease: AgentLease,
  committing: Committing,
  others: () => Promise<readonly Op[]>,
): Promise<{ results: Extract<CommitResult, { ok: true }>["results"]; also: readonly Op[] }> {
  for (let tries = 1; ; tries++) {
    const also = await others();
    const ops: Op[] = [...committing.ops, ...claimedFor(also, lease.node), { op: "agent.release" }];
    try {
      return { results: (await lease.commit({ ...committing, ops })).results, also };
    } catch (error) {
      if (!isOutdated(error) || also.length === 0 || tries === TRIES) throw error;
    }
  }
}

interface RepliedWith {
  readonly reply?: Reply;
  readonly around: AroundReply;
  readonly opening?: string;
  readonly profile: string;
  readonly more?: readonly string[];
  /** Comes before the text of an error. */
  readonly late?: Payload;
}

/** The deliveries of several payloads, numbered one after the other. */
function inOrder(
  draft: DeliveryDraft,
  payloads: readonly Payload[],
  make: (draft: DeliveryDraft, payload: Payload, index: number) => readonly NewDelivery[],
): readonly NewDelivery[] {
  const made: NewDelivery[] = [];
  for (const [index, payload] of payloads.entries()) made.push(...make(after(draft, made), payload, index));
  return made;
}

/** The text before an answer comes with its first part, the text after it with its last. */
const placed = ({ before, behind }: AroundReply, index: number, count: number): AroundReply => ({
  before: index === 0 ? before : undefined,
  behind: index === count - 1 ? behind : undefined,
});

/** `words`: the first delivery of the last payload. */
interface Replies {
  readonly owed: readonly NewDelivery[];
  readonly words?: NewDelivery;
}

function repliesOf(
  ports: RunPorts,
  run: LiveRun,
  { reply, around, opening, profile, more = [], late }: RepliedWith,
  payload: Payload | undefined,
  at: number,
): Replies {
  const { body, agentId, id: runId } = run;
  if (!body.delivery || !(payload ?? late)) return { owed: [] };
  const { delivery: target, deliveries: ordinal } = body;
  const person = body.behalf?.person;
  const draft = { agentId, profile, runId, ordinal, at, target, opening, person, connectors: ports.connectors };
  if (late || !payload || payload.isError) {
    return { owed: inOrder(draft, [late ?? [], payload ?? []].flat(), createDeliveries) };
  }
  const sent = { texts: body.sentTexts ?? [], targets: body.sentTargets ?? [] };
  if (!reply) {
    const texts = [payload, ...more.map((text): Payload => ({ text }))];
    return {
      owed: inOrder(draft, texts, (at, one, index) =>
        createReplyDeliveries(at, one, sent, placed(around, index, texts.length)),
      ),
    };
  }
  if (reply.suppress !== undefined) return { owed: [suppressed(draft, payload, reply.suppress)] };
  const owed: NewDelivery[] = [];
  let words: NewDelivery | undefined;
  for (const one of reply.payloads) {
    const made = createReplyDeliveries(after(draft, owed), one, sent);
    words = made[0];
    owed.push(...made);
  }
  return { owed, words };
}

/** The origin of the message that was answered last. An address is atomic: a field that it does not name is absent. */
function routingFacts(delivery: DeliveryContext): Partial<AgentState> {
  const { channel, to, accountId, threadId } = delivery;
  return {
    deliveryContext: delivery,
    lastChannel: channel,
    lastTo: to,
    lastAccountId: accountId,
    lastThreadId: threadId,
  };
}

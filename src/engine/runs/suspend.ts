/**
 * Suspends a run that has only calls left which wait for a person (M31). One commit asks all questions, marks the run as
 * suspended and releases the agent: it holds no lane, no lease and no timer, and any node may take it up again.
 */
import type { Button, DeliveryContext, NewDelivery } from "../../core/delivery/delivery.ts";
import { OWNER } from "../../core/people/person.ts";
import type { ApprovalId, NewApproval } from "../../core/rights/approval.ts";
import type { CallRecord, RunBody } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { questionMessage, questionOf, waitingText } from "../approvals/question.ts";
import type { HeldCall } from "../approvals/settle-asked.ts";
import { isOutdated } from "../commit/commit-refused.ts";
import { chain } from "../context/entries.ts";
import { createDeliveries } from "../outbox/create-deliveries.ts";
import { questionLane } from "../outbox/question-lane.ts";
import { auditOf } from "../rights/audit-entry.ts";
import { type AgentLease, givesBack } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { commitIntent, intend } from "./intend.ts";

/** A new question may get an id that is taken. */
const TRIES = 8;

/** False if a call may go on after all: an answer came, or a right has changed. */
export async function suspend(ports: RunPorts, lease: AgentLease, run: LiveRun): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    const { calls, held, denials, ops } = await intend(ports, lease.record, run, run.body.calls);
    const waits = denials.length === 0 && ops.length === 0 && calls.every(({ state }) => state !== "intended");
    if (!waits) {
      await goOn(ports, lease, run);
      return false;
    }
    try {
      await ask(ports, lease, run, held);
      return true;
    } catch (error) {
      if (!isOutdated(error) || tries === TRIES) throw error;
    }
  }
}

async function goOn(ports: RunPorts, lease: AgentLease, run: LiveRun): Promise<void> {
  const bodyWith = (calls: readonly CallRecord[]): RunBody => ({ ...run.body, calls: [...calls] });
  const { calls } = await commitIntent(ports, lease, run, run.body.calls, (intent) => ({
    site: "intend",
    ops: [...intent.ops, { op: "run.step", runId: run.id, body: bodyWith(intent.calls) }],
    append: chain(ports.ids, lease, intent.denials),
    run: run.guard(),
  }));
  run.stepped(bodyWith(calls));
  ports.events.emit(run.position, { type: "step" });
}

async function ask(ports: RunPorts, lease: AgentLease, run: LiveRun, held: readonly HeldCall[]): Promise<void> {
  const { ids, clock, approvals, events } = ports;
  const agent = lease.record;
  const at = clock.now();
  const dueAt = dueAtOf(run, at, ports.settings.current.approvals.expiryMinutes * 60_000);
  const fresh = held.filter(({ approval }) => approval === undefined);
  const asking = { agent, run, at, dueAt, uuid: () => ids.uuid() };
  const questions = await Promise.all(
    fresh.map(async (one) => {
      const chat = await approvals?.askAt(one.behalf, run.body.delivery);
      return { ...questionOf(asking, one), chat };
    }),
  );
  const deliveries = await deliveriesOf(ports, lease, run, questions, at);
  const asked = new Map(held.map(({ judged, approval }) => [judged.call.callId, approval]));
  for (const { callId, id } of questions) asked.set(callId, id);
  const calls = run.body.calls.map(
    (call): CallRecord => ({ ...call, approval: asked.get(call.callId) ?? call.approval }),
  );
  const body: RunBody = { ...run.body, calls, suspended: true, deliveries: run.body.deliveries + deliveries.length };
  const ops: Op[] = [
    ...questions.map((approval): Op => ({ op: "approval.ask", approval })),
    ...fresh.map(({ judged }): Op => ({ op: "audit.add", entry: auditOf(agent, run, judged, at) })),
    ...deliveries.map((delivery): Op => ({ op: "delivery.add", delivery })),
    { op: "run.step", runId: run.id, body },
    { op: "run.suspend", runId: run.id, suspended: true },
    { op: "agent.release" },
  ];
  const { results } = await lease.commit({ site: "suspend", at, ops, run: run.guard() });
  lease.suspended = true;
  lease.released = givesBack(results);
  run.stepped(body);
  ports.onDeliveries(deliveries, results);
  if (questions.length > 0) approvals?.asked(dueAt);
  events.emit(run.position, { type: "step" });
  for (const { callId, tool: name, id: approvalId } of questions) {
    events.emit(run.position, { type: "approval", callId, name, approvalId });
  }
}

/** A time limit that the run's own message sets counts on while it waits; the default one does not. */
function dueAtOf({ startedAt, body }: LiveRun, at: number, expiryMs: number): number {
  const seconds = body.wishes?.timeoutSeconds;
  const own = seconds === undefined ? Number.POSITIVE_INFINITY : startedAt + seconds * 1000;
  return Math.min(at + expiryMs, Math.max(own, at));
}

async function deliveriesOf(
  ports: RunPorts,
  { record: agent }: AgentLease,
  run: LiveRun,
  questions: readonly NewApproval[],
  at: number,
): Promise<readonly NewDelivery[]> {
  const owed: NewDelivery[] = [];
  const { agentId, id: runId, body } = run;
  const person = body.behalf?.person;
  const owe = (target: DeliveryContext, text: string, buttons: readonly Button[], asks?: ApprovalId): void => {
    const ordinal = body.deliveries + owed.length;
    const draft = { agentId, profile: agent.profile, runId, ordinal, at, target, person, connectors: ports.connectors };
    // Without buttons the text says how to answer.
    const shows = ports.connectors.get(target.channel ?? "")?.capabilities.buttons;
    owed.push(...createDeliveries(draft, { text, asks, buttons: shows ? buttons : undefined }));
  };
  for (const question of questions) {
    const { id, chat } = question;
    if (!chat) continue;
    const { maxTextLength } = ports.connectors.get(chat.channel ?? "")?.capabilities ?? {};
    const { text, buttons } = questionMessage(question, maxTextLength);
    owe(questionLane(chat), text, buttons, id);
  }
  // Someone else decides: the run's person reads why there is no answer yet.
  if (questions.length > 0 && person !== OWNER && body.delivery) owe(body.delivery, waitingText(questions), []);
  return owed;
}

/**
 * The ops that the end of a triggered run adds to its commit: the slot's record, the job's state, a summary for the main
 * conversation, an alert to the person after repeated failures. Run and delivery count separately.
 */

import type { AgentRecord } from "../../../core/agent/agent.ts";
import { cutText } from "../../../core/cut-text.ts";
import { type Delivery, type DeliveryContext, deliveryId, type NewDelivery } from "../../../core/delivery/delivery.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import type { Message, MessageBody } from "../../../core/message/message.ts";
import type { Trigger } from "../../../core/message/trigger.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { RunBody, RunOutcome, RunResult } from "../../../core/run/run.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { type JobRunEnd, MANUAL_SLOT } from "../../../core/schedule/job-slot.ts";
import type { Op, Recipient, Settlement } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { recipientOf } from "../../inbox/accept.ts";
import { NEVER_READ, NO_ROUTE } from "../../outbox/waiting-sweep.ts";
import { supersedeOps } from "../heartbeat/last-heartbeat.ts";
import { stripHeartbeatToken } from "../heartbeat/strip-heartbeat-token.ts";
import { type JobPorts, jobNotice, mainOf, makerAddress, seedMain } from "./job-message.ts";
import { endText } from "./job-texts.ts";

interface RunEndPorts extends JobPorts, Pick<Ports, "ids"> {
  readonly store: StoreReader;
}

interface EndedRun {
  readonly id: RunResult["runId"];
  readonly startedAt: number;
  readonly body: RunBody;
}

const SUMMARY_CHARS = 2_000;
const FULL_CHARS = 8_000;
const FAILED: readonly RunOutcome[] = ["error", "timeout", "lost"];

/** Ops of one run's end. They are computed again if one of them is outdated at the commit. */
export async function opsOnRunEnd(
  ports: RunEndPorts,
  agent: AgentRecord,
  run: EndedRun,
  result: RunResult,
  { at, mainKey, deliveries = [] }: { at: number; mainKey?: string; deliveries?: readonly NewDelivery[] },
): Promise<readonly Op[]> {
  const { store, ids } = ports;
  const { trigger } = run.body;
  if (trigger?.slot === undefined || trigger.type === "webhook") return [];
  const job = await store.job(trigger.id);
  const end = runEnd(agent, run, result, { job, at, deliveries });
  const ran: Op = { op: "job.ran", jobId: trigger.id, slot: trigger.slot, end };
  if (!job) return [ran];
  const main = await mainOf(store, job, mainKey);
  const words = trigger.type === "heartbeat" && deliveries.some(({ ended }) => !ended);
  const superseded = words ? await supersedeOps(store, agent.state) : [];
  const text = endText(job, end, end.error ?? end.delivery.reason ?? end.status);
  const summary = main?.id === agent.id ? undefined : summaryText(job, end, result);
  if (text === undefined && summary === undefined) return [ran, ...superseded];
  const to = main ? { agentId: main.id } : recipientOf(seedMain(ids, job, at, mainKey));
  const target = await makerAddress(ports, job);
  const isDelivered = text !== undefined || deliveries.some(({ ended }) => !ended);
  return [
    ran,
    ...superseded,
    ...(summary === undefined ? [] : [summaryFor(to, job, summary, isDelivered ? undefined : target, at)]),
    ...(text === undefined ? [] : [alert(text, target, agent, run.id, at)]),
  ];
}

function runEnd(
  agent: AgentRecord,
  run: EndedRun,
  result: RunResult,
  { job, at, deliveries }: { job: CronJob | undefined; at: number; deliveries: readonly NewDelivery[] },
): JobRunEnd {
  const { outcome, meta } = result;
  const text = textOf(result);
  const delivery = deliveryOf(deliveries);
  return {
    at,
    status: outcome,
    error: meta.error?.message,
    agentId: agent.id,
    runId: run.id,
    startedAt: run.startedAt,
    durationMs: meta.durationMs,
    summary: text === "" ? undefined : cutOff(text, SUMMARY_CHARS),
    delivery,
    deliveryIds: deliveries.length > 0 ? idsOf(run, deliveries) : undefined,
    cost: run.body.usage?.cost?.total,
    manual: isManual(run.body.trigger),
    failed: FAILED.includes(outcome) || (delivery.status === "failed" && !isBestEffort(job)),
  };
}

const isBestEffort = (job: CronJob | undefined): boolean =>
  job?.payload.kind === "agentTurn" && job.payload.bestEffortDeliver === true;

/** `unroutable` is not a failure: the words are listed, and sent when a route appears (M26). */
function deliveryOf(deliveries: readonly NewDelivery[]): JobRunEnd["delivery"] {
  const [first] = deliveries;
  if (!first) return { status: "none" };
  if (deliveries.every(({ ended }) => ended) && first.ended) return endedAtOnce(first.ended);
  const unroutable = deliveries.find(({ ended, waits }) => !ended && waits?.state === "unroutable");
  return unroutable ? { status: "unroutable", reason: unroutable.waits?.reason } : { status: "owed" };
}

const endedAtOnce = ({ state, reason }: NonNullable<NewDelivery["ended"]>): JobRunEnd["delivery"] => ({
  status: state,
  reason,
});

/** All deliveries of the run, its answer last. */
const idsOf = ({ id, body }: EndedRun, deliveries: readonly NewDelivery[]): readonly DeliveryId[] => [
  ...Array.from({ length: body.deliveries }, (_, ordinal) => deliveryId(id, ordinal)),
  ...deliveries.map((one) => one.id),
];

const textOf = (result: RunResult): string => result.payloads.at(-1)?.text?.trim() ?? "";

const cutOff = (text: string, chars: number): string => (text.length <= chars ? text : `${cutText(text, chars)}…`);

/** The summary of an isolated run for the main conversation; undefined if there is nothing to say. */
function summaryText(job: CronJob, end: JobRunEnd, result: RunResult): string | undefined {
  if (job.system || job.sessionTarget !== "isolated") return undefined;
  const { postToMainPrefix, postToMainMode = "summary", postToMainMaxChars = FULL_CHARS } = job.isolation ?? {};
  const said = stripHeartbeatToken(textOf(result), { mode: "heartbeat" });
  if (end.status === "ok" && said.shouldSkip) return undefined;
  const status = end.status === "ok" ? "" : ` (${end.status})`;
  const body = said.text || end.error || end.status;
  return `${postToMainPrefix?.trim() || "Cron"}${status}: ${cutOff(body, postToMainMode === "full" ? postToMainMaxChars : SUMMARY_CHARS)}`;
}

/**
 * Silent, or a message that wakes the main conversation. One whose words the person gets anyway (`target` is undefined) wakes no one,
 * so that they are sent once. A conversation that does not exist is created with it (M3).
 */
function summaryFor(to: Recipient, job: CronJob, text: string, target: DeliveryContext | undefined, at: number): Op {
  const silent = target === undefined || job.wakeMode !== "now" || undefined;
  const said = target === undefined ? "delivered" : undefined;
  const body = { kind: "system", text, origin: `cron:${job.id}`, silent, said } as const;
  return { op: "message.post", to, message: { body, delivery: silent ? undefined : target, acceptedAt: at } };
}

/** The person is owed the alert, even without a route to the person (M26). */
function alert(text: string, target: DeliveryContext, agent: AgentRecord, runId: EndedRun["id"], at: number): Op {
  const id = `${runId}.alert` as DeliveryId;
  const payload = { text, isError: true };
  return { op: "delivery.add", delivery: { id, agentId: agent.id, runId, target, payload, createdAt: at } };
}

/** The ops for the end of a delivery that belongs to a job's slot. The outbox holds no agent's lease, so an alert is a notice. */
export async function opsOnDelivered(
  ports: RunEndPorts,
  delivery: Delivery,
  { to, reason }: { readonly to: Delivery["state"]; readonly reason?: string },
  at: number,
  mainKey?: string,
): Promise<readonly Op[]> {
  const { store } = ports;
  const { slot: of } = delivery.payload;
  if (!of || (to !== "sent" && to !== "failed" && to !== "unconfirmed" && to !== "unroutable")) return [];
  const job = await store.job(of.jobId);
  // No one could be reached, or no one looked: the job did its work.
  const unread = reason?.startsWith(NO_ROUTE) || reason?.startsWith(NEVER_READ);
  const failed = to === "failed" && !unread && !isBestEffort(job);
  const ops: Op[] = [{ op: "job.delivered", ...of, told: { at, status: to, failed, reason } }];
  if (!failed || !job) return ops;
  const status = (await store.jobSlot(of.jobId, of.slot))?.end?.delivery.status;
  if (status !== "owed" && status !== "sent" && status !== "unroutable") return ops;
  const text = endText(job, { status: "ok", failed }, reason ?? to);
  return text === undefined ? ops : [...ops, await noticeOp(ports, job, text, at, mainKey)];
}

async function noticeOp(ports: RunEndPorts, job: CronJob, text: string, at: number, mainKey?: string): Promise<Op> {
  const { to, ...message } = await jobNotice(ports, job, text, mainKey);
  const recipient = "agentId" in to ? to : recipientOf(seedMain(ports.ids, job, at, mainKey));
  return { op: "message.post", to: recipient, message: { ...message, acceptedAt: at } };
}

/**
 * Closes the slots of triggered messages that were settled without a run (M22). The same commit has a notice for the person of a job
 * that has no later time, or that fails too often (M46).
 */
export async function opsOnSettle(
  ports: RunEndPorts,
  messages: readonly Message[],
  { state, reason }: Pick<Settlement, "state"> & { readonly reason: string },
  { at, mainKey }: { readonly at: number; readonly mainKey?: string },
): Promise<readonly Op[]> {
  const failed = state === "failed";
  const status = failed ? "error" : "dropped";
  const ops: Op[] = [];
  for (const { body } of messages) {
    const trigger = body.kind === "trigger" && body.trigger.type !== "webhook" ? body.trigger : undefined;
    const jobId = trigger?.slot === undefined ? reminderIn(body) : trigger.id;
    if (jobId === undefined) continue;
    const end: JobRunEnd = {
      ...{ at, status, error: reason, delivery: { status: "none" }, failed },
      manual: isManual(trigger),
    };
    if (trigger?.slot !== undefined) ops.push({ op: "job.ran", jobId, slot: trigger.slot, end });
    const job = await ports.store.job(jobId);
    const text = job && endText(job, end, reason);
    if (job && text !== undefined) ops.push(await noticeOp(ports, job, text, at, mainKey));
  }
  return ops;
}

const ORIGIN = "cron:";

/** The job of a reminder that waits for the next heartbeat. Its slot ended when it was posted. */
function reminderIn(body: MessageBody): string | undefined {
  if (body.kind !== "system" || !body.silent || body.said !== undefined) return undefined;
  return body.origin?.startsWith(ORIGIN) ? body.origin.slice(ORIGIN.length) : undefined;
}

const isManual = (trigger: Trigger | undefined): true | undefined =>
  trigger?.slot?.startsWith(MANUAL_SLOT) || undefined;

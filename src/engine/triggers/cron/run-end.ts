/**
 * The ops that the end of a triggered run adds to its commit: the slot's record, the job's state, a summary for the main
 * conversation, an alert to the person after repeated failures. Run and delivery count separately.
 */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { type Delivery, type DeliveryContext, deliveryId, type NewDelivery } from "../../../core/delivery/delivery.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { Trigger } from "../../../core/message/trigger.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { RunBody, RunOutcome, RunResult } from "../../../core/run/run.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { ALERT_AFTER, DISABLE_AFTER, type JobRunEnd, MANUAL_SLOT } from "../../../core/schedule/job-slot.ts";
import type { Op, Recipient } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { recipientOf } from "../../inbox/accept.ts";
import { stripHeartbeatToken } from "../heartbeat/strip-heartbeat-token.ts";
import { mainOf, seedMain, wantsDelivery } from "./job-message.ts";

export interface EndedRun {
  readonly id: RunResult["runId"];
  readonly startedAt: number;
  readonly body: RunBody;
}

const SUMMARY_CHARS = 2_000;
const FULL_CHARS = 8_000;
const FAILED: readonly RunOutcome[] = ["error", "timeout", "lost"];

export async function opsOnRunEnd(
  { store, ids }: Pick<Ports, "store" | "ids">,
  agent: AgentRecord,
  run: EndedRun,
  result: RunResult,
  { at, mainKey, deliveries = [] }: { at: number; mainKey?: string; deliveries?: readonly NewDelivery[] },
): Promise<readonly Op[]> {
  const { trigger } = run.body;
  if (trigger?.slot === undefined || trigger.type === "webhook") return [];
  const job = await store.job(trigger.id);
  const end = runEnd(agent, run, result, { job, at, deliveries });
  const ran: Op = { op: "job.ran", jobId: trigger.id, slot: trigger.slot, end };
  if (!job) return [ran];
  const main = await mainOf(store, job, mainKey);
  const to = main ? { agentId: main.id } : recipientOf(seedMain(ids, job, at, mainKey));
  const said = main?.id === agent.id ? undefined : summaryText(job, end, result);
  const summary = said === undefined ? [] : [summaryFor(to, job, said, main?.state.deliveryContext, at)];
  return [ran, ...summary, ...alert(job, end, main, agent, run.id, at)];
}

function runEnd(
  agent: AgentRecord,
  run: EndedRun,
  result: RunResult,
  { job, at, deliveries }: { job: CronJob | undefined; at: number; deliveries: readonly NewDelivery[] },
): JobRunEnd {
  const { outcome, meta } = result;
  const text = textOf(result);
  const delivery = deliveryOf(run, result, job, deliveries);
  return {
    at,
    status: outcome,
    error: meta.error?.message,
    agentId: agent.id,
    runId: run.id,
    startedAt: run.startedAt,
    durationMs: meta.durationMs,
    summary: text === "" ? undefined : shortened(text, SUMMARY_CHARS),
    delivery,
    deliveryIds: deliveries.length > 0 ? idsOf(run, deliveries) : undefined,
    cost: run.body.usage?.cost?.total,
    manual: run.body.trigger?.slot?.startsWith(MANUAL_SLOT) || undefined,
    failed: FAILED.includes(outcome) || (delivery.status === "failed" && !isBestEffort(job)),
  };
}

export const NO_RECIPIENT = "Cron delivery requires a recipient (--to).";

const isBestEffort = (job: CronJob | undefined): boolean =>
  job?.payload.kind === "agentTurn" && job.payload.bestEffortDeliver === true;

function deliveryOf(
  run: EndedRun,
  { outcome }: RunResult,
  job: CronJob | undefined,
  deliveries: readonly NewDelivery[],
): JobRunEnd["delivery"] {
  const [first] = deliveries;
  if (run.body.delivery && !first) return { status: "none" };
  if (first) {
    return deliveries.every(({ ended }) => ended) && first.ended ? endedAtOnce(first.ended) : { status: "owed" };
  }
  if (!job || !wantsDelivery(job) || outcome !== "ok") return { status: "none" };
  return isBestEffort(job)
    ? { status: "none", reason: `Delivery skipped (${NO_RECIPIENT})` }
    : { status: "failed", reason: NO_RECIPIENT };
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

const shortened = (text: string, chars: number): string => (text.length <= chars ? text : `${text.slice(0, chars)}…`);

/** What an isolated run leaves in the main conversation; undefined if there is nothing to say. */
function summaryText(job: CronJob, end: JobRunEnd, result: RunResult): string | undefined {
  if (job.system || job.sessionTarget !== "isolated") return undefined;
  const { postToMainPrefix, postToMainMode = "summary", postToMainMaxChars = FULL_CHARS } = job.isolation ?? {};
  const said = stripHeartbeatToken(textOf(result), { mode: "heartbeat" });
  if (end.status === "ok" && said.shouldSkip) return undefined;
  const status = end.status === "ok" ? "" : ` (${end.status})`;
  const body = said.text || end.error || end.status;
  return `${postToMainPrefix?.trim() || "Cron"}${status}: ${shortened(body, postToMainMode === "full" ? postToMainMaxChars : SUMMARY_CHARS)}`;
}

/** Silent, or a message that wakes the main conversation. A conversation that does not exist is created with it (M3). */
function summaryFor(to: Recipient, job: CronJob, text: string, delivery: DeliveryContext | undefined, at: number): Op {
  const silent = job.wakeMode !== "now";
  const body = { kind: "system", text, origin: `cron:${job.id}`, silent: silent || undefined } as const;
  return { op: "message.post", to, message: { body, delivery: silent ? undefined : delivery, acceptedAt: at } };
}

/** Alerts the person after two failures in a row, when the job is turned off, and at every failure of a one-time job. */
function alert(
  job: CronJob,
  end: JobRunEnd,
  main: AgentRecord | undefined,
  agent: AgentRecord,
  runId: EndedRun["id"],
  at: number,
): readonly Op[] {
  const target = main?.state.deliveryContext;
  if (!end.failed || !target) return [];
  const text = alertText(job, end.error ?? end.delivery.reason ?? end.status);
  if (text === undefined) return [];
  const delivery: NewDelivery = {
    id: `${runId}.alert` as DeliveryId,
    agentId: agent.id,
    runId,
    target,
    payload: { text, isError: true },
    createdAt: at,
  };
  return [{ op: "delivery.add", delivery }];
}

/** Undefined if this failure needs no alert. */
function alertText(job: CronJob, why: string): string | undefined {
  const errors = (job.state.consecutiveErrors ?? 0) + 1;
  const what = job.system ? "The heartbeat" : `The cron job "${job.name}"`;
  if (errors === DISABLE_AFTER) return `⚠️ ${what} failed ${errors} times in a row and was turned off: ${why}`;
  if (errors === ALERT_AFTER) return `⚠️ ${what} failed ${errors} times in a row: ${why}`;
  return job.schedule.kind === "at" ? `⚠️ ${what} failed: ${why}` : undefined;
}

/**
 * The ops for the end of a delivery that belongs to a job's slot. The outbox holds no agent's lease, so an alert is a message
 * to the main conversation, which passes it to the person.
 */
export async function opsOnDelivered(
  store: Pick<StoreReader, "job" | "jobSlot" | "agentByKey">,
  delivery: Delivery,
  { to, reason }: { readonly to: Delivery["state"]; readonly reason?: string },
  at: number,
  mainKey?: string,
): Promise<readonly Op[]> {
  const { slot: of } = delivery.payload;
  if (!of || (to !== "sent" && to !== "failed" && to !== "unconfirmed")) return [];
  const job = await store.job(of.jobId);
  const failed = to === "failed" && !isBestEffort(job);
  const ops: Op[] = [{ op: "job.delivered", ...of, told: { at, status: to, failed, reason } }];
  const status = failed && job ? (await store.jobSlot(of.jobId, of.slot))?.end?.delivery.status : undefined;
  const text = job && (status === "owed" || status === "sent") ? alertText(job, reason ?? to) : undefined;
  const main = job && text !== undefined ? await mainOf(store, job, mainKey) : undefined;
  const target = main?.state.deliveryContext;
  if (!main || !target || text === undefined) return ops;
  const body = { kind: "system", text, origin: `cron:${of.jobId}` } as const;
  return [
    ...ops,
    { op: "message.post", to: { agentId: main.id }, message: { body, delivery: target, acceptedAt: at } },
  ];
}

/** Closes the slots of triggered messages that were settled without a run (M22). */
export function opsOnSettle(messages: readonly Message[], reason: string, at: number): readonly Op[] {
  return messages.flatMap((message): readonly Op[] => {
    const trigger = triggerOf(message);
    if (trigger?.slot === undefined || trigger.type === "webhook") return [];
    const end: JobRunEnd = { at, status: "dropped", error: reason, delivery: { status: "none" }, failed: false };
    return [{ op: "job.ran", jobId: trigger.id, slot: trigger.slot, end }];
  });
}

const triggerOf = ({ body }: Message): Trigger | undefined => (body.kind === "trigger" ? body.trigger : undefined);

/**
 * Every due time of a trigger yields exactly one of a run or a recorded skip with its reason (L9). The due times are counted
 * here from the recorded revisions, without the program's own schedule code.
 */

import type { AgreedSchedule, JobEvidence } from "../world/jobs.ts";
import { DUE_HOUR, ZONES } from "../world/zones.ts";
import { broken, type View, type Violation } from "./audit-view.ts";

export function* triggers(view: View): Iterable<Violation> {
  for (const job of view.jobs) {
    yield* everyDueTimeOnce(job);
    yield* everySlotItsMessage(view, job);
    yield* everyRunItsSummary(view, job);
    yield* listedTimesFit(job);
    yield* everyAnswerOwed(view, job);
  }
}

/** Between one revision and the next each due time has one row, and none has two. */
function* everyDueTimeOnce({ id, agreed, slots }: JobEvidence): Iterable<Violation> {
  for (const [index, schedule] of agreed.entries()) {
    const { revision, firstDue } = schedule;
    const next = agreed[index + 1];
    const rows = slots.filter((slot) => slot.revision === revision);
    const covered = rows.flatMap(({ dueAt, count }) => timesFrom(schedule, dueAt, count)).sort((a, b) => a - b);
    if (firstDue === undefined) {
      if (covered.length > 0) yield broken("L9", `${id}: revision ${revision} was off but has slots`);
      continue;
    }
    const times = timesFrom(schedule, firstDue, covered.length + 1);
    for (const [n, dueAt] of covered.entries()) {
      const right = times[n];
      if (dueAt === right) continue;
      yield broken("L9", `${id}: revision ${revision} has a slot at ${dueAt}, but ${right} is due`);
      break;
    }
    for (const { status, reason, untilAt, dueAt, count } of rows) {
      if (status === "skipped" && !reason) yield broken("L9", `${id}: ${dueAt} was skipped without a reason`);
      if (count > 1 && untilAt !== timesFrom(schedule, dueAt, count).at(-1))
        yield broken("L9", `${id}: a range from ${dueAt} counts ${count} and ends at ${untilAt}`);
    }
    // This revision must have slots up to the start of the next revision.
    if (!next) continue;
    const until = times.at(-1) ?? firstDue;
    if (until <= next.from) yield broken("L9", `${id}: revision ${revision} was due at ${until} but has no row for it`);
  }
}

/** The due times of a schedule from one of them on. */
function timesFrom(schedule: AgreedSchedule, first: number, count: number): readonly number[] {
  const times: number[] = [];
  for (let at = first; times.length < count; at = following(schedule, at)) times.push(at);
  return times;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The next due time after one. */
function following({ everyMs, aheadMs }: AgreedSchedule, at: number): number {
  if (aheadMs === undefined) return at + everyMs;
  const next = (Math.floor(at / everyMs) + 1) * everyMs;
  const ofDay = (next + aheadMs) % DAY_MS;
  const start = DUE_HOUR * HOUR_MS;
  if (ofDay >= start && ofDay < start + HOUR_MS) return next;
  return next - ofDay + start + (ofDay < start ? 0 : DAY_MS);
}

/** Before the jobs were turned off, they were due by the clock and in the zone of the nodes, and not later. */
function* listedTimesFit({ id, inspected }: JobEvidence): Iterable<Violation> {
  if (!inspected) return;
  const { job, wall, zone } = inspected;
  const { nextRunAtMs } = job.state;
  if (nextRunAtMs === undefined) return yield broken("L9", `${id}: is on but has no next time`);
  if (job.schedule.kind === "every") {
    const longest = 2 * job.schedule.everyMs;
    if (nextRunAtMs - wall > longest)
      yield broken("L9", `${id}: every ${job.schedule.everyMs} ms, but next in ${nextRunAtMs - wall} ms`);
    return;
  }
  const hour = Math.floor(((nextRunAtMs + (ZONES[zone] ?? 0)) % DAY_MS) / HOUR_MS);
  if (hour !== DUE_HOUR) yield broken("L9", `${id}: is listed for ${nextRunAtMs}, which is hour ${hour} in ${zone}`);
}

/** Every run of an isolated job left one summary in a main conversation, also in one that did not exist before. */
function* everyRunItsSummary({ listed }: View, { id, job, slots }: JobEvidence): Iterable<Violation> {
  if (job?.sessionTarget !== "isolated") return;
  const ran = slots.filter(({ end }) => end?.runId && (end.status !== "ok" || end.summary !== undefined));
  const summaries = listed
    .flatMap(({ messages }) => messages)
    .filter(({ body }) => body.kind === "system" && body.origin === `cron:${id}` && body.text.startsWith("Cron"));
  if (summaries.length !== ran.length)
    yield broken("L9", `${id}: ${ran.length} runs left ${summaries.length} summaries`);
}

/** Where delivery was asked for, a successful run owes its words, and the slot shows what became of them (M26). */
function* everyAnswerOwed({ listed }: View, { id, job, slots }: JobEvidence): Iterable<Violation> {
  if (job?.payload.kind !== "agentTurn" || !job.payload.deliver) return;
  const all = new Map(listed.flatMap(({ deliveries }) => deliveries).map((one) => [String(one.id), one]));
  for (const { slot, end } of slots) {
    if (end?.status !== "ok") continue;
    const [first, ...more] = (end.deliveryIds ?? []).map((one) => all.get(one));
    if (!first) yield broken("L9", `${id}: slot ${slot} was to be delivered, but nothing is listed`);
    else if (more.length === 0 && end.delivery.status !== first.state)
      yield broken("L9", `${id}: slot ${slot} says ${end.delivery.status}, its delivery is ${first.state}`);
  }
}

/** A fired slot has one message with the same end as the slot; a skipped slot has none. */
function* everySlotItsMessage({ listed }: View, { id, slots }: JobEvidence): Iterable<Violation> {
  const messages = listed.flatMap(({ messages: all }) => all);
  const ofJob = messages.filter(({ body }) => body.kind === "trigger" && body.trigger.id === id);
  const bySlot = new Map<string, number>();
  for (const { body } of ofJob) {
    const slot = body.kind === "trigger" ? (body.trigger.slot ?? "") : "";
    bySlot.set(slot, (bySlot.get(slot) ?? 0) + 1);
  }
  for (const [slot, count] of bySlot) {
    if (count > 1) yield broken("L9", `${id}: slot ${slot} was posted ${count} times`);
    if (!slots.some((row) => row.slot === slot && row.status === "fired"))
      yield broken("L9", `${id}: slot ${slot} was posted but is not listed as fired`);
  }
  const silent = messages.filter(
    ({ body }) => body.kind === "system" && body.origin === `cron:${id}` && body.text === "it is time",
  );
  const recorded = slots.filter(({ end }) => end?.status === "recorded");
  if (silent.length !== recorded.length)
    yield broken("L9", `${id}: ${recorded.length} slots were recorded by ${silent.length} messages`);
  for (const { slot, status, end } of slots) {
    if (status !== "fired" || end?.status === "recorded") continue;
    const message = ofJob.find(({ body }) => body.kind === "trigger" && body.trigger.slot === slot);
    if (!message) yield broken("L9", `${id}: slot ${slot} fired, but its message is in no inbox`);
    else if (!end) yield broken("L9", `${id}: slot ${slot} has no end, its message is ${message.state}`);
    else if (end.runId !== message.runId)
      yield broken("L9", `${id}: slot ${slot} ended with run ${end.runId}, its message with ${message.runId}`);
  }
}

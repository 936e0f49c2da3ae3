/**
 * L9: every due time of a trigger yields exactly one of a run or a recorded skip with its reason. The due times are counted
 * here from the recorded revisions, without the program's own schedule code.
 */

import type { JobEvidence } from "../world/jobs.ts";
import { broken, type View, type Violation } from "./audit-view.ts";

export function* triggers(view: View): Iterable<Violation> {
  for (const job of view.jobs) {
    yield* everyDueTimeOnce(job);
    yield* everySlotItsMessage(view, job);
  }
}

/** Between one revision and the next each due time has one row, and none has two. */
function* everyDueTimeOnce({ id, agreed, slots }: JobEvidence): Iterable<Violation> {
  for (const [index, { revision, everyMs, firstDue }] of agreed.entries()) {
    const next = agreed[index + 1];
    const rows = slots.filter((slot) => slot.revision === revision);
    const covered = rows
      .flatMap(({ dueAt, count }) => Array.from({ length: count }, (_, n) => dueAt + n * everyMs))
      .sort((a, b) => a - b);
    if (firstDue === undefined) {
      if (covered.length > 0) yield broken("L9", `${id}: revision ${revision} was off but has slots`);
      continue;
    }
    for (const [n, dueAt] of covered.entries()) {
      const right = firstDue + n * everyMs;
      if (dueAt === right) continue;
      yield broken("L9", `${id}: revision ${revision} has a slot at ${dueAt}, but ${right} is due`);
      break;
    }
    for (const { status, reason, untilAt, dueAt, count } of rows) {
      if (status === "skipped" && !reason) yield broken("L9", `${id}: ${dueAt} was skipped without a reason`);
      if (count > 1 && untilAt !== dueAt + (count - 1) * everyMs)
        yield broken("L9", `${id}: a range from ${dueAt} counts ${count} and ends at ${untilAt}`);
    }
    // This revision must have slots up to the start of the next revision.
    if (!next) continue;
    const until = firstDue + covered.length * everyMs;
    if (until <= next.from) yield broken("L9", `${id}: revision ${revision} was due at ${until} but has no row for it`);
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

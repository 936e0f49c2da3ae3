/** Careless brokers that the check of due times must find (L9). Each is made by a store with the effect of a bad change to the program. */

import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Change, Op } from "../../../src/core/store/change.ts";
import { type BreakPorts, committing } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

/** Every change the program makes goes through `change` first. */
const changing = (change: (change: Change) => Change): BreakPorts =>
  committing((store, one) => store.commit(change(one)));

const ops =
  (map: (op: Op) => readonly Op[]) =>
  (change: Change): Change => ({ ...change, ops: change.ops.flatMap(map) });

const isSkip = (op: Op): boolean => op.op === "job.slot" && op.slot.status === "skipped";

/** The results of the message's commit must stay at their usual index. */
function splitFiring(ports: Ports): Ports {
  const { store } = ports;
  return {
    ...ports,
    store: {
      ...store,
      async commit(change) {
        const [post, ...rest] = change.ops;
        const fires = post?.op === "message.post" && rest.some((op) => op.op === "job.slot");
        if (!fires) return store.commit(change);
        const marked = await store.commit({ ...change, id: ports.ids.change(), site: "mark", ops: rest });
        return marked.ok ? store.commit({ ...change, ops: [post] }) : marked;
      },
    },
  };
}

/** Every firing gets a new slot, over any version of the job. */
function unguarded(change: Change): Change {
  const own = (slot: string | undefined): string => `${slot}#${change.id}`;
  return ops((op): readonly Op[] => {
    if (op.op === "job.put" && change.site === "accept") return [{ op: "job.put", job: op.job }];
    if (op.op === "job.slot" && op.slot.status === "fired")
      return [{ ...op, slot: { ...op.slot, slot: own(op.slot.slot) } }];
    if (op.op !== "message.post" || op.message.body.kind !== "trigger") return [op];
    const { body } = op.message;
    const trigger = { ...body.trigger, slot: own(body.trigger.slot) };
    return [{ ...op, dedupe: undefined, message: { ...op.message, body: { ...body, trigger } } }];
  })(change);
}

const isSummary = (op: Op): boolean =>
  op.op === "message.post" && op.message.body.kind === "system" && op.message.body.text.startsWith("Cron");

/** The run's end is committed first, then what it leaves in the main conversation. */
function splitSummary(ports: Ports): Ports {
  const { store } = ports;
  return committing(async (_, change) => {
    const [summaries, rest] = [change.ops.filter(isSummary), change.ops.filter((op) => !isSummary(op))];
    if (summaries.length === 0 || rest.length === 0) return store.commit(change);
    const ended = await store.commit({ ...change, ops: rest });
    if (ended.ok) await store.commit({ id: ports.ids.change(), site: "summary", at: change.at, ops: summaries });
    return ended;
  })(ports);
}

/** Due times are planned again for none of the jobs with this kind of schedule. */
const neverReplanning = (kind: string): BreakPorts =>
  committing(async (store, change) => {
    const put = change.ops.find((op) => op.op === "job.put");
    if (change.site !== "cron.replan" || put?.job.schedule.kind !== kind) return store.commit(change);
    return { ok: true, results: change.ops.map(() => undefined) };
  });

export const TRIGGER_MUTATIONS: readonly (Mutation & { readonly ports: (ports: Ports) => Ports })[] = [
  {
    name: "slot unguarded",
    about: "a job fires although another broker changed it since it was read, under a new slot each time",
    law: "L9",
    scenario: "two-brokers",
    ports: changing(unguarded),
  },
  {
    name: "next time first",
    about: "the job's next time is committed before the message is",
    law: "L9",
    scenario: "schedules",
    from: 12,
    ports: splitFiring,
  },
  {
    name: "skipped without a row",
    about: "missed due times are skipped without a record",
    law: "L9",
    scenario: "schedules",
    from: 12,
    ports: changing(ops((op) => (isSkip(op) ? [] : [op]))),
  },
  {
    name: "edit forgets what is due",
    about: "an edit begins the new schedule and leaves the old one's due times open",
    law: "L9",
    scenario: "schedule-edits",
    from: 5,
    ports: changing((change) =>
      change.site === "cron.update" ? ops((op) => (isSkip(op) ? [] : [op]))(change) : change,
    ),
  },
  {
    name: "slot never ends",
    about: "a run ends without a record in its job",
    law: "L9",
    scenario: "schedules",
    from: 12,
    ports: changing(ops((op) => (op.op === "job.ran" ? [] : [op]))),
  },
  {
    name: "no summary without a conversation",
    about: "the summary of a job is dropped if its main conversation does not exist",
    law: "L9",
    scenario: "schedules",
    from: 12,
    ports: changing(ops((op) => (isSummary(op) && op.op === "message.post" && "create" in op.to ? [] : [op]))),
  },
  {
    name: "summary later",
    about: "the summary of a job is committed after the run's end",
    law: "L9",
    scenario: "schedules",
    from: 42,
    ports: splitSummary,
  },
  {
    name: "zone ignored",
    about: "stored due times stay in the old time zone",
    law: "L9",
    scenario: "zone-changes",
    ports: neverReplanning("cron"),
  },
  {
    name: "zone change forgets what is due",
    about: "another time zone leaves the old one's due times open",
    law: "L9",
    scenario: "zone-changes",
    from: 2,
    ports: changing((change) =>
      change.site === "cron.replan" ? ops((op) => (isSkip(op) ? [] : [op]))(change) : change,
    ),
  },
  {
    name: "set back ignored",
    about: "after the clock was set back an interval waits for its stored time",
    law: "L9",
    scenario: "clocks-back",
    from: 3,
    ports: neverReplanning("every"),
  },
  {
    name: "set back in the same revision",
    about: "after the clock was set back an interval begins again under the same revision",
    law: "L9",
    scenario: "clocks-back",
    from: 3,
    ports: changing((change) =>
      change.site === "cron.replan"
        ? ops((op) =>
            op.op === "job.put" ? [{ ...op, job: { ...op.job, revision: (op.job.revision ?? 2) - 1 } }] : [op],
          )(change)
        : change,
    ),
  },
];

/**
 * Cron jobs of fixed intervals, or of every few seconds in one hour of the day: people edit them through any live node and
 * turn them off when the faults have ended. Every revision that the store accepted is recorded, so that the auditor can
 * count the due times itself.
 */
import type { ChangeId } from "../../../src/core/ids.ts";
import type { CronJob } from "../../../src/core/schedule/job.ts";
import type { JobSlot } from "../../../src/core/schedule/job-slot.ts";
import type { Change } from "../../../src/core/store/change.ts";
import type { Random } from "../../kit/random.ts";
import type { Range } from "../scenarios/scenario.ts";
import { type AskDeps, askNode } from "./ask-node.ts";
import { type Applied, afterwards, type ServerBackend } from "./sim-store.ts";
import { DUE_HOUR, ZONES } from "./zones.ts";

export interface JobsShape {
  readonly count: Range;
  readonly everyMs: Range;
  readonly edits: Range;
  /** How often the configured time zone changes. Then the jobs are cron expressions without a zone. */
  readonly zones?: Range;
  /** Before the jobs are turned off, their listed times are recorded. */
  readonly inspected?: boolean;
  /** Whether isolated jobs deliver their answer, to a channel that may not exist yet. */
  readonly deliver?: boolean;
}

/** Seconds between the due times of an expression. */
const STEPS: readonly number[] = [2, 3, 4, 5, 6];
/** How long nodes have after the faults to agree on clock and zone. */
const SETTLE_MS = 20_000;

/** A job at one revision: its schedule from then on. */
export interface AgreedSchedule {
  readonly revision: number;
  readonly everyMs: number;
  /** Of an expression: due only in one hour of the day, by a clock this far ahead of UTC. */
  readonly aheadMs?: number;
  readonly firstDue: number | undefined;
  readonly from: number;
}

export interface JobEvidence {
  readonly id: string;
  /** Every revision in order. */
  readonly agreed: readonly AgreedSchedule[];
  /** As the public listing shows them, oldest first. */
  readonly slots: readonly JobSlot[];
  readonly job: CronJob | undefined;
  /** The job before it was turned off, with the time of the nodes and the configured zone. */
  readonly inspected?: { readonly job: CronJob; readonly wall: number; readonly zone: string };
}

export interface Jobs {
  readonly ids: readonly string[];
  /** Changes the schedule of some job, or turns it off or on. */
  edit(): void;
  /** Asks for every job to be turned off. Resolves to true once all are. */
  end(): Promise<boolean>;
  evidence(): Promise<readonly JobEvidence[]>;
}

export interface JobsDeps extends AskDeps {
  readonly now: number;
  zone(): string;
  /** The latest wall time of all nodes. */
  wall(): number;
  monotonic(): number;
}

export function makeJobs(deps: JobsDeps, shape: JobsShape | undefined): Jobs {
  const { random, backend, now } = deps;
  const history = new Map<string, CronJob[]>();
  for (let n = shape ? random.int(...shape.count) : 0; n > 0; n--) {
    const job = newJob(random, `job-${n}`, shape as JobsShape, now);
    backend.apply([{ id: `world-${job.id}` as ChangeId, site: "world.job", at: now, ops: [{ op: "job.put", job }] }]);
    history.set(job.id, [job]);
  }
  const ids = [...history.keys()];
  watchRevisions(backend, history);

  const ask = (id: string, patch: unknown): void => {
    const about = `change ${id}: ${JSON.stringify(patch)}`;
    askNode(deps, "updateJob", { about, ask: (subject) => subject.updateJob(id, patch) });
  };

  const inspected = new Map<string, JobEvidence["inspected"]>();
  let endsAt: number | undefined;

  return {
    ids,
    edit() {
      if (ids.length === 0 || !shape) return;
      const id = random.pick(ids);
      const patch = random.chance(0.6) ? { schedule: newSchedule(random, shape) } : { enabled: random.chance(0.6) };
      ask(id, patch);
    },
    async end() {
      let all = true;
      endsAt ??= deps.monotonic() + (shape?.inspected ? SETTLE_MS : 0);
      if (deps.monotonic() < endsAt) return false;
      for (const id of ids) {
        const job = await backend.reader.job(id);
        if (!job?.enabled) continue;
        all = false;
        if (shape?.inspected && !inspected.has(id)) inspected.set(id, { job, wall: deps.wall(), zone: deps.zone() });
        ask(id, { enabled: false });
      }
      return all;
    },
    evidence: () =>
      Promise.all(
        ids.map(async (id) => ({
          ...(await evidenceOf(backend, id, history.get(id) ?? [])),
          inspected: inspected.get(id),
        })),
      ),
  };
}

/** As a person writes it. */
function newSchedule(random: Random, { everyMs, zones }: JobsShape): CronJob["schedule"] {
  if (!zones) return { kind: "every", everyMs: random.int(...everyMs) };
  return { kind: "cron", expr: `*/${random.pick(STEPS)} * ${DUE_HOUR} * * *` };
}

function newJob(random: Random, id: string, shape: JobsShape, now: number): CronJob {
  const schedule = newSchedule(random, shape);
  const everyMs = intervalOf(schedule);
  const { deliver } = shape;
  const isolated = random.chance(0.7);
  const turn = { kind: "agentTurn", message: "do your job" } as const;
  return {
    id,
    name: id,
    enabled: true,
    createdAtMs: now,
    updatedAtMs: now,
    schedule: schedule.kind === "every" ? { ...schedule, anchorMs: now } : schedule,
    zone: schedule.kind === "cron" ? "UTC" : undefined,
    sessionTarget: isolated ? "isolated" : "main",
    wakeMode: random.chance(0.5) ? "now" : "next-heartbeat",
    payload: !isolated
      ? { kind: "systemEvent", text: "it is time" }
      : deliver
        ? { ...turn, deliver, channel: "later", to: "ops" }
        : turn,
    missed: random.pick(["skip", "once", "all"]),
    overlap: random.pick(["skip", "queue"]),
    staggerMs: random.chance(0.3) ? 400 : undefined,
    revision: 1,
    state: { nextRunAtMs: now + everyMs },
  };
}

/** Milliseconds between two due times. */
const intervalOf = (schedule: CronJob["schedule"]): number =>
  schedule.kind === "every"
    ? schedule.everyMs
    : schedule.kind === "cron"
      ? 1_000 * Number(/^\*\/(\d+) /u.exec(schedule.expr)?.[1])
      : 0;

/** Records each revision that the backend applies, one after the other, so that none is missed. */
function watchRevisions(backend: ServerBackend, history: ReadonlyMap<string, CronJob[]>): void {
  const watch = (changes: readonly Change[], results: Applied): void => {
    for (const [index, change] of changes.entries()) {
      const result = results[index];
      if (!result || result instanceof Error || !result.ok) continue;
      for (const op of change.ops) {
        const known = op.op === "job.put" ? history.get(op.job.id) : undefined;
        if (op.op !== "job.put" || !known) continue;
        if ((known.at(-1)?.revision ?? 0) < (op.job.revision ?? 0)) known.push(op.job);
      }
    }
  };
  const { apply } = backend;
  Object.assign(backend, {
    apply(changes: readonly Change[]) {
      const results = apply(changes);
      afterwards(results, (applied) => watch(changes, applied));
      return results;
    },
  });
}

async function evidenceOf({ reader }: ServerBackend, id: string, history: readonly CronJob[]): Promise<JobEvidence> {
  const job = await reader.job(id);
  const revisions = job && history.at(-1)?.revision !== job.revision ? [...history, job] : history;
  const agreed = revisions.map(
    ({ revision = 1, schedule, zone, state, updatedAtMs }): AgreedSchedule => ({
      revision,
      everyMs: intervalOf(schedule),
      aheadMs: schedule.kind === "cron" ? ZONES[zone ?? ""] : undefined,
      firstDue: state.nextRunAtMs,
      from: updatedAtMs,
    }),
  );
  const slots = (await reader.jobSlots(id, { limit: 100_000 })).toReversed();
  return { id, agreed, slots, job };
}

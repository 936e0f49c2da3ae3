/**
 * Cron jobs of fixed intervals: people edit them through any live node and turn them off when the faults have ended. Every
 * revision that the store accepted is recorded, so that the auditor can count the due times itself.
 */
import type { ChangeId } from "../../../src/core/ids.ts";
import type { CronJob } from "../../../src/core/schedule/job.ts";
import type { JobSlot } from "../../../src/core/schedule/job-slot.ts";
import type { Change } from "../../../src/core/store/change.ts";
import type { Random } from "../../kit/random.ts";
import type { Range } from "../scenarios/scenario.ts";
import { type AskDeps, askNode } from "./ask-node.ts";
import { type Applied, afterwards, type ServerBackend } from "./sim-store.ts";

export interface JobsShape {
  readonly count: Range;
  readonly everyMs: Range;
  readonly edits: Range;
}

/** A job at one revision: its schedule from then on. */
export interface AgreedSchedule {
  readonly revision: number;
  readonly everyMs: number;
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
}

export function makeJobs(deps: JobsDeps, shape: JobsShape | undefined): Jobs {
  const { random, backend, now } = deps;
  const history = new Map<string, CronJob[]>();
  for (let n = shape ? random.int(...shape.count) : 0; n > 0; n--) {
    const job = newJob(random, `job-${n}`, random.int(...(shape as JobsShape).everyMs), now);
    backend.apply([{ id: `world-${job.id}` as ChangeId, site: "world.job", at: now, ops: [{ op: "job.put", job }] }]);
    history.set(job.id, [job]);
  }
  const ids = [...history.keys()];
  watchRevisions(backend, history);

  const ask = (id: string, patch: unknown): void => {
    const about = `change ${id}: ${JSON.stringify(patch)}`;
    askNode(deps, "updateJob", { about, ask: (subject) => subject.updateJob(id, patch) });
  };

  return {
    ids,
    edit() {
      if (ids.length === 0 || !shape) return;
      const id = random.pick(ids);
      const patch = random.chance(0.6)
        ? { schedule: { kind: "every", everyMs: random.int(...shape.everyMs) } }
        : { enabled: random.chance(0.6) };
      ask(id, patch);
    },
    async end() {
      let all = true;
      for (const id of ids) {
        const job = await backend.reader.job(id);
        if (!job?.enabled) continue;
        all = false;
        ask(id, { enabled: false });
      }
      return all;
    },
    evidence: () => Promise.all(ids.map((id) => evidenceOf(backend, id, history.get(id) ?? []))),
  };
}

function newJob(random: Random, id: string, everyMs: number, now: number): CronJob {
  const isolated = random.chance(0.7);
  return {
    id,
    name: id,
    enabled: true,
    createdAtMs: now,
    updatedAtMs: now,
    schedule: { kind: "every", everyMs, anchorMs: now },
    sessionTarget: isolated ? "isolated" : "main",
    wakeMode: random.chance(0.5) ? "now" : "next-heartbeat",
    payload: isolated ? { kind: "agentTurn", message: "do your job" } : { kind: "systemEvent", text: "it is time" },
    missed: random.pick(["skip", "once", "all"]),
    overlap: random.pick(["skip", "queue"]),
    staggerMs: random.chance(0.3) ? 400 : undefined,
    revision: 1,
    state: { nextRunAtMs: now + everyMs },
  };
}

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
    ({ revision = 1, schedule, state, updatedAtMs }): AgreedSchedule => ({
      revision,
      everyMs: schedule.kind === "every" ? schedule.everyMs : 0,
      firstDue: state.nextRunAtMs,
      from: updatedAtMs,
    }),
  );
  const slots = (await reader.jobSlots(id, { limit: 100_000 })).toReversed();
  return { id, agreed, slots, job };
}

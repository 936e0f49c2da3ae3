/**
 * Schedules in the simulated world: jobs of fixed intervals, edited through whichever node lives, and turned off when the
 * faults have ended. What was agreed with the program is remembered, so that the auditor can count the due times itself.
 */

import type { ChangeId } from "../../../src/core/ids.ts";
import type { CronJob } from "../../../src/core/schedule/job.ts";
import type { JobSlot } from "../../../src/core/schedule/job-slot.ts";
import type { Change } from "../../../src/core/store/change.ts";
import type { Random } from "../../kit/random.ts";
import type { Range } from "../scenarios/scenarios.ts";
import type { Subject } from "../subjects/subject.ts";
import type { EventLog } from "./event-log.ts";
import type { SimProcess } from "./process.ts";
import { type Applied, afterwards, type ServerBackend } from "./sim-store.ts";

export interface JobsShape {
  readonly count: Range;
  readonly everyMs: Range;
  readonly edits: Range;
}

/** A job as it stood at one revision: what it promised from then on. */
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
  /** Turns every job off; resolves in its own time. True once all are. */
  end(): Promise<boolean>;
  evidence(): Promise<readonly JobEvidence[]>;
}

export interface JobsWorld {
  readonly random: Random;
  readonly log: EventLog;
  readonly backend: ServerBackend;
  readonly now: number;
  living(): readonly { readonly process: SimProcess; readonly subject: Subject | undefined }[];
}

export function makeJobs({ random, log, backend, now, living }: JobsWorld, shape: JobsShape | undefined): Jobs {
  const ids: string[] = [];
  const history = new Map<string, CronJob[]>();

  /** What the store holds after a change is what was agreed, whoever heard the answer. */
  async function note(id: string): Promise<void> {
    const job = await backend.reader.job(id);
    const known = history.get(id) ?? [];
    if (job && known.at(-1)?.revision !== job.revision) history.set(id, [...known, job]);
  }

  for (let n = shape ? random.int(...shape.count) : 0; n > 0; n--) {
    const id = `job-${n}`;
    const everyMs = random.int(...(shape as JobsShape).everyMs);
    const isolated = random.chance(0.7);
    const job: CronJob = {
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
      ...(random.chance(0.3) ? { staggerMs: 400 } : {}),
      revision: 1,
      state: { nextRunAtMs: now + everyMs },
    };
    backend.apply([{ id: `world-${id}` as ChangeId, site: "world.job", at: now, ops: [{ op: "job.put", job }] }]);
    ids.push(id);
    history.set(id, [job]);
  }

  /** Every revision passes through the store one after the other, so watching each commit misses none. */
  const watched = backend.apply;
  Object.assign(backend, {
    apply(changes: Parameters<ServerBackend["apply"]>[0]) {
      const results = watched(changes);
      afterwards(results, (applied) => watch(changes, applied));
      return results;
    },
  });

  function watch(changes: readonly Change[], results: Applied): void {
    for (const [index, change] of changes.entries()) {
      const result = results[index];
      if (!result || result instanceof Error || !result.ok) continue;
      for (const op of change.ops) {
        if (op.op !== "job.put" || !history.has(op.job.id)) continue;
        const known = history.get(op.job.id) as CronJob[];
        if ((known.at(-1)?.revision ?? 0) < (op.job.revision ?? 0)) known.push(op.job);
      }
    }
  }

  function ask(id: string, patch: unknown): void {
    const able = living().filter(({ process, subject }) => process.state === "up" && subject?.updateJob);
    if (able.length === 0) return;
    const { process, subject } = random.pick(able);
    log.write(process.name, `is asked to change ${id}: ${JSON.stringify(patch)}`);
    process.enter(() => void subject?.updateJob?.(id, patch).catch(() => undefined));
  }

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
    evidence: () =>
      Promise.all(
        ids.map(async (id) => {
          await note(id);
          const agreed = (history.get(id) ?? []).map(
            ({ revision = 1, schedule, state, updatedAtMs }): AgreedSchedule => ({
              revision,
              everyMs: schedule.kind === "every" ? schedule.everyMs : 0,
              firstDue: state.nextRunAtMs,
              from: updatedAtMs,
            }),
          );
          const slots = (await backend.reader.jobSlots(id, { limit: 100_000 })).toReversed();
          return { id, agreed, slots, job: await backend.reader.job(id) };
        }),
      ),
  };
}

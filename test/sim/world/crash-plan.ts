/**
 * Decides where processes die or are paused. A plan follows from the seed alone: some crashes come at the k-th call, some
 * at a commit chosen with a bias towards places seldom passed in this run, some during recovery after a restart. Hits
 * are counted per commit site, so that a gap in the coverage shows.
 */

import type { Random } from "../../kit/random.ts";
import type { CrashPoint, Moment } from "./process.ts";

/** `site|before` → how often a process died there. Sites that were passed without a death are listed with 0. */
export type Coverage = Map<string, number>;

export interface CrashAim {
  readonly site: string;
  readonly moment: Moment;
}

export interface CrashPlan {
  /** Called at every point of every process. */
  at(point: CrashPoint): "die" | "pause" | "go";
  /** Pauses one of the next processes right after it got an answer, before it can act on it. */
  armPause(): void;
  /** Several commits of one process were applied and not answered: a death inside a batch. */
  countBatchDeath(sites: readonly string[]): void;
  onRestart(): void;
  /** No crash from now on. */
  stop(): void;
  readonly coverage: Coverage;
  readonly crashes: number;
}

/** `countdown`: die at zero. `rare`: at zero, die at a commit, with a bias towards places seldom passed. */
interface Trigger {
  readonly kind: "countdown" | "rare";
  left: number;
}

/**
 * `crashes`: the maximum number. `aims`: in addition, die once at each of these places, the first time it is passed. An
 * aim stays active after the faults end: a place entered just before can still be hit.
 */
export function makeCrashPlan(random: Random, crashes: number, aims: readonly CrashAim[] = []): CrashPlan {
  const coverage: Coverage = new Map();
  const passed = new Map<string, number>();
  let budget = crashes;
  let died = 0;
  let aimed = aims;
  let stopped = false;
  let trigger = nextTrigger(random);
  let pauses = 0;

  const hit = (site: string, moment: Moment): void => {
    coverage.set(`${site}|${moment}`, (coverage.get(`${site}|${moment}`) ?? 0) + 1);
  };

  function aimedAt(point: CrashPoint): boolean {
    if (point.kind !== "commit") return false;
    const aim = aimed.find(({ site, moment }) => site === point.site && moment === point.moment);
    aimed = aimed.filter((one) => one !== aim);
    return aim !== undefined;
  }

  function due(point: CrashPoint): boolean {
    if (budget <= 0) return false;
    trigger.left -= 1;
    if (trigger.left > 0) return false;
    if (trigger.kind === "countdown") return true;
    if (point.kind !== "commit") return false;
    const seen = passed.get(`${point.site}|${point.moment}`) ?? 0;
    return random.chance(0.4 / (seen + 1));
  }

  function pauseDue(point: CrashPoint): boolean {
    if (pauses === 0 || point.moment === "before" || point.kind === "read") return false;
    if (!random.chance(0.05)) return false;
    pauses -= 1;
    return true;
  }

  return {
    coverage,
    get crashes() {
      return died;
    },
    armPause() {
      pauses += 1;
    },
    at(point) {
      const strikes = aimedAt(point);
      if (stopped && !strikes) return "go";
      const cell = `${point.site}|${point.moment}`;
      if (point.kind === "commit") {
        passed.set(cell, (passed.get(cell) ?? 0) + 1);
        for (const moment of ["before", "after"]) {
          const other = `${point.site}|${moment}`;
          if (!coverage.has(other)) coverage.set(other, 0);
        }
      }
      if (!strikes && !due(point)) return pauseDue(point) ? "pause" : "go";
      died += 1;
      // An aimed death is additional: the deaths that the seed plans stay the same.
      if (!strikes) budget -= 1;
      if (point.kind === "commit") hit(point.site, point.moment);
      if (!strikes) trigger = nextTrigger(random);
      return "die";
    },
    countBatchDeath(sites) {
      died += 1;
      for (const site of sites) hit(site, "after");
    },
    onRestart() {
      if (random.chance(0.35)) trigger = { kind: "countdown", left: random.int(1, 30) };
    },
    stop() {
      stopped = true;
    },
  };
}

/** Half of the crashes at the k-th call (k spread over the magnitudes), half at a rare place after some time. */
function nextTrigger(random: Random): Trigger {
  return random.chance(0.5)
    ? { kind: "countdown", left: Math.floor(Math.exp(random.next() * Math.log(2_000))) + 1 }
    : { kind: "rare", left: random.int(1, 1_500) };
}

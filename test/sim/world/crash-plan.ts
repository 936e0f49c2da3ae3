/**
 * Decides where processes die or are paused. A plan follows from the seed alone: some crashes come at the k-th call, some at a commit
 * chosen with a bias towards places this run has seen seldom, some soon after a restart (a crash during recovery). What
 * was hit is counted per commit site, so that a gap in the coverage is seen.
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
  /** Asked at every point of every process. */
  at(point: CrashPoint): "die" | "pause" | "go";
  /** Pauses a process that comes by soon: with an answer in its hand, before it can act on it. */
  armPause(): void;
  /** Several commits of one process were applied and not answered: a death inside a batch. */
  countBatchDeath(sites: readonly string[]): void;
  onRestart(): void;
  /** No crash from here on. */
  stop(): void;
  readonly coverage: Coverage;
  readonly crashes: number;
}

/** `countdown`: die when it is over. `rare`: when it is over, die at a commit, sooner where few have passed. */
interface Trigger {
  readonly kind: "countdown" | "rare";
  left: number;
}

/**
 * `crashes`: at most so many. `aims`: beside these, die once at each of these places, the first time it is passed. An aim
 * outlives the faults' end: a place that was entered just before it can still be hit on the way out.
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
      // An aimed death is one more: those the seed plans come as they would have come.
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

/** Half of the crashes at the k-th call (k spread over the magnitudes), half at a seldom place some time on. */
function nextTrigger(random: Random): Trigger {
  return random.chance(0.5)
    ? { kind: "countdown", left: Math.floor(Math.exp(random.next() * Math.log(2_000))) + 1 }
    : { kind: "rare", left: random.int(1, 1_500) };
}

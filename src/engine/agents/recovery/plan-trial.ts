/**
 * Which suspects are tried together (M13): half of those that were found, the other half after them. After a death at most half
 * as many as before, so that the run which kills the process among n is alone after log n deaths. Short trials come first.
 */
import type { RunTrial } from "../../../core/run/trial.ts";

export interface Candidate {
  readonly trial: RunTrial;
  /** Whether it has waited for a trial of others. */
  readonly hasWaited: boolean;
}

/** How many may be on trial together with this run. */
function groupLimit({ deaths, of }: RunTrial): number {
  // It was alone when the process died: it stays alone.
  if (deaths.length > 0) return 1;
  return of === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(of / 2));
}

/**
 * The members of the next trial, out of all suspects in the order in which they came. `quiet`: no interrupted run is unproven, so a
 * death during a trial of one has one cause. A suspect that must be alone goes first then: after the others it rarely is alone.
 */
export function planTrial<T extends Candidate>(suspects: Iterable<T>, quiet = false): readonly T[] {
  const sorted = [...suspects].sort(
    (a, b) => a.trial.survived - b.trial.survived || compareLimits(groupLimit(a.trial), groupLimit(b.trial)),
  );
  const [first] = sorted;
  if (!first) return [];
  const lone = quiet ? sorted.find(({ trial }) => needsLoneTrial(trial)) : undefined;
  if (lone) return [lone];
  const same = sorted.filter(({ hasWaited }) => hasWaited === first.hasWaited);
  const most = first.hasWaited ? same.length : Math.ceil(same.length / 2);
  const members: T[] = [];
  for (const suspect of same) {
    const { trial } = suspect;
    if (trial.survived !== first.trial.survived || members.length >= Math.min(most, groupLimit(trial))) break;
    members.push(suspect);
  }
  return members;
}

/** Whether the process died while the run was tried alone or with one or two others, and it survived no trial since. */
export const needsLoneTrial = (trial: RunTrial): boolean => trial.survived === 0 && groupLimit(trial) === 1;

const compareLimits = (a: number, b: number): number => (a === b ? 0 : b > a ? 1 : -1);

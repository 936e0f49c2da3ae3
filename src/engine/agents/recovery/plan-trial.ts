/**
 * Which suspects are tried together (M13). All of them at first; after a death at most half as many, so that the run which
 * kills the process among n is alone after log n deaths. A process that lives through a small trial doubles the next one of
 * that size: runs that kills from outside have split into small groups do not wait for each other. Short trials come first.
 */
import type { RunTrial } from "../../../core/run/trial.ts";

/** The trials of one size that this process has lived through, one after the other. */
export interface Passed {
  /** How many their members allowed. */
  readonly limit: number;
  readonly times: number;
}

/** How many may be on trial together with this run. */
export function groupLimit({ deaths, of }: RunTrial): number {
  // It was alone when the process died: it stays alone.
  if (deaths.length > 0) return 1;
  return of === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(of / 2));
}

/** The members of the next trial, out of all suspects in the order in which they came. */
export function planTrial<T extends { readonly trial: RunTrial }>(
  suspects: Iterable<T>,
  passed?: Passed,
): readonly T[] {
  const sorted = [...suspects].sort(
    (a, b) => a.trial.survived - b.trial.survived || compareLimits(groupLimit(a.trial), groupLimit(b.trial)),
  );
  const [first] = sorted;
  if (!first) return [];
  const limit = groupLimit(first.trial);
  const times = passed?.limit === limit ? passed.times : 0;
  const members: T[] = [];
  for (const suspect of sorted) {
    const { trial } = suspect;
    const own = groupLimit(trial);
    const most = own === limit && trial.deaths.length === 0 ? own * 2 ** times : own;
    if (trial.survived !== first.trial.survived || members.length >= most) break;
    members.push(suspect);
  }
  return members;
}

const compareLimits = (a: number, b: number): number => (a === b ? 0 : b > a ? 1 : -1);

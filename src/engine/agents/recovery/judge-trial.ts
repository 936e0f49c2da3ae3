/**
 * Judges a run by the deaths of processes (M13). Pure: derived from the run's record, so that a crash between two
 * judgements changes nothing. Only a death while the run was alone on trial counts, and it is struck out if the process that
 * tried nothing afterwards died too.
 */
import type { RunRecord } from "../../../core/run/run.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import type { Fate } from "./node-fates.ts";

const TRIAL_MS = 10_000;
/** Each trial that a run survives without a step makes its next one this many times longer. */
const LONGER = 6;
/** How long nothing is tried after the first and the second death that counts. */
export const PAUSES_MS = [10_000, 120_000] as const;
/** This many deaths fail the run. */
export const MAX_DEATHS = 3;

export const UNTRIED: RunTrial = { deaths: [], survived: 0 };

export const trialMs = ({ survived }: RunTrial): number => TRIAL_MS * LONGER ** survived;

type FateOf = (node: number) => Fate;

/** Another node stopped working on the run. A suspended run was not at work, so its node's end says nothing about it (M31). */
export const wasInterrupted = ({ body }: Pick<RunRecord, "body">, node: number): boolean =>
  body.node !== node && !body.paused && !body.suspended;

/** A node that returned had lost its lease. A silent one may have died: the run becomes a suspect, but does not fail. */
export function hasCrashed(run: Pick<RunRecord, "body">, node: number, fateOf: FateOf): boolean {
  const was = run.body.node;
  return wasInterrupted(run, node) && (was === undefined || isGone(fateOf(was)));
}

interface Judgement {
  readonly trial: RunTrial;
  /** Whether a death was added. It is committed, and the process tries nothing for a while. */
  readonly counted: boolean;
}

/** The node on which a watchdog ended the process because of this run, and when. */
interface Noted {
  readonly node: number;
  readonly at: number;
}

/** Undefined if the node on which the run was tried is silent: it may have died or not. */
export function judge(known: RunTrial | undefined, fateOf: FateOf, noted?: Noted): Judgement | undefined {
  const { on, pause, note, ...rest } = known ?? UNTRIED;
  const fate = on && fateOf(on.node);
  if (on && fate === "silent") return undefined;
  // A node that returned under another number had lost its lease and did not die.
  let deaths = rest.deaths.filter((node) => fateOf(node) !== "returned");
  const struck = pause !== undefined && isGone(fateOf(pause));
  if (struck) deaths = deaths.slice(0, -1);
  const killer = fate === "dead" && on?.alone ? on.node : noted && noted.at !== note ? noted.node : undefined;
  const counted = killer !== undefined;
  if (counted) deaths = [...deaths, killer];
  const trial: RunTrial = { ...rest, deaths };
  // The death proved nothing: the run is a suspect as at the beginning.
  if (struck && deaths.length === 0) delete trial.of;
  if (fate === "dead") trial.of = on?.of;
  const noteAt = noted?.at ?? note;
  if (noteAt !== undefined) trial.note = noteAt;
  // The pause of this very process continues.
  if (pause !== undefined && fateOf(pause) === "alive" && !counted) trial.pause = pause;
  return { trial, counted };
}

/** Whether a run is tried before it continues: it was open at two crashes, or was on trial. */
export const isSuspect = (
  { attempt, body }: Pick<RunRecord, "attempt" | "body">,
  trial: RunTrial,
  crashed: boolean,
): boolean =>
  body.trial?.on !== undefined || trial.of !== undefined || trial.deaths.length > 0 || (crashed && attempt > 1);

const isGone = (fate: Fate): boolean => fate === "dead" || fate === "silent";

/** The trial ended well: with no step, but alive. */
export const survived = ({ deaths, survived: times, note }: RunTrial): RunTrial => ({
  deaths,
  survived: times + 1,
  note,
});

/**
 * The trials of one process (M13). A suspect waits until the process has lived for a while and nothing else is on trial; then
 * it is tried, beside all ordinary work, with as many others as `planTrial` allows. Holds no durable data: who is on trial
 * is committed with the run before it begins.
 */
import type { RunId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import { LIVED_MS, PAUSES_MS } from "./judge-trial.ts";
import { groupLimit, type Passed, planTrial } from "./plan-trial.ts";

export interface Suspect {
  readonly runId: RunId;
  readonly trial: RunTrial;
  /** Makes it ask again. */
  wake(): void;
}

interface Member {
  /** When it was admitted. */
  readonly at: number;
  /** Whether it has come to be tried, and leaves by itself. */
  came: boolean;
  /** Ends its trial because the process is about to end. */
  standDown?: () => void;
}

/** A suspect that was admitted and does not come in this time is not waited for: its agent may be gone. */
const COME_MS = 10_000;

export class Trials {
  readonly #clock: Clock;
  readonly #startedAt: number;
  #pauseUntil = 0;
  #passed: Passed = { limit: 0, times: 0 };
  readonly #waiting = new Map<RunId, Suspect>();
  readonly #members = new Map<RunId, Member>();
  /** Runs that survived a trial here and have not made a step since. */
  readonly #unproven = new Set<RunId>();
  /** How many were admitted to the current trial, and whether nothing else is suspected. */
  #trial = { of: 0, alone: false };

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  /** Undefined: the suspect is admitted. Otherwise it asks again after so many milliseconds, or when it is woken. */
  ask(suspect: Suspect): number | undefined {
    const { runId } = suspect;
    const now = this.#clock.monotonic();
    if (!this.#members.has(runId)) {
      this.#waiting.set(runId, suspect);
      const ready = Math.max(this.#startedAt + LIVED_MS, this.#pauseUntil);
      if (now < ready) return ready - now;
      this.#dropAbsent(now);
      if (this.#members.size > 0) return COME_MS;
      this.#admit(now);
    }
    const member = this.#members.get(runId);
    if (!member) return COME_MS;
    member.came = true;
    return undefined;
  }

  /** What a run that was admitted is marked with. */
  markOf(node: number): NonNullable<RunTrial["on"]> {
    return { node, ...this.#trial };
  }

  onDrain(runId: RunId, standDown: () => void): void {
    const member = this.#members.get(runId);
    if (member) member.standDown = standDown;
  }

  /** Nobody stays on trial: the process ends, and that is no death. */
  drain(): void {
    for (const { standDown } of this.#members.values()) standDown?.();
  }

  /** The run lived through its trial without a step, and goes on as an ordinary run. */
  survived(runId: RunId): void {
    if (!this.#members.has(runId)) return;
    this.#unproven.add(runId);
    this.#leaveTrial(runId);
  }

  /** The run made a step, ended, waits, or is no suspect. */
  leave(runId: RunId): void {
    this.#waiting.delete(runId);
    this.#unproven.delete(runId);
    this.#leaveTrial(runId);
  }

  /** This node holds no agent any more. */
  clear(): void {
    this.#waiting.clear();
    this.#members.clear();
    this.#unproven.clear();
  }

  /** Begins the pause after a death that counts. False if something is on trial: then it must wait. */
  pause(deaths: number): boolean {
    const now = this.#clock.monotonic();
    this.#dropAbsent(now);
    if (this.#members.size > 0) return false;
    this.#pauseUntil = Math.max(this.#pauseUntil, now + (PAUSES_MS[deaths - 1] ?? 0));
    return true;
  }

  /** How long nothing is tried from now on, in milliseconds. */
  get pauseLeft(): number {
    return Math.max(0, this.#pauseUntil - this.#clock.monotonic());
  }

  #admit(now: number): void {
    const members = planTrial(this.#waiting.values(), this.#passed);
    const limit = members[0] ? groupLimit(members[0].trial) : 0;
    if (this.#passed.limit !== limit) this.#passed = { limit, times: 0 };
    this.#trial = { of: members.length, alone: members.length === 1 && this.#unproven.size === 0 };
    for (const { runId, wake } of members) {
      this.#waiting.delete(runId);
      this.#members.set(runId, { at: now, came: false });
      wake();
    }
  }

  #dropAbsent(now: number): void {
    for (const [runId, { at, came }] of this.#members) {
      if (!came && now - at >= COME_MS) this.#members.delete(runId);
    }
  }

  #leaveTrial(runId: RunId): void {
    if (!this.#members.delete(runId) || this.#members.size > 0) return;
    const { limit, times } = this.#passed;
    this.#passed = { limit, times: times + 1 };
    for (const { wake } of [...this.#waiting.values()]) wake();
  }
}

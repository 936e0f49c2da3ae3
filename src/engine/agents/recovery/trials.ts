/**
 * The trials of one process (M13). A suspect waits until the process has lived for a while and nothing else is on trial; then
 * it is tried, beside all ordinary work, with as many others as `planTrial` allows. Holds no durable data: who is on trial
 * is committed with the run before it begins.
 */
import type { Clock } from "../../../core/ports/clock.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import { LIVED_MS, PAUSES_MS } from "./judge-trial.ts";
import { groupLimit, type Passed, planTrial } from "./plan-trial.ts";

/** An actor that recovers its run. After a lost lease another actor of the same agent may recover the same run. */
export type Actor = object;

export interface Suspect {
  readonly actor: Actor;
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
  /** When the process has lived long enough to try something. */
  readonly #readyAt: number;
  #pauseUntil = 0;
  #passed: Passed = { limit: 0, times: 0 };
  readonly #waiting = new Map<Actor, Suspect>();
  readonly #members = new Map<Actor, Member>();
  /** Runs that survived a trial here and have not made a step since. */
  readonly #unproven = new Set<Actor>();
  /** How many were admitted to the current trial, and whether nothing else is suspected. */
  #trial = { of: 0, alone: false };

  constructor(clock: Clock, livedMs = LIVED_MS) {
    this.#clock = clock;
    this.#readyAt = clock.monotonic() + livedMs;
  }

  /** Whether it waits for its trial. */
  awaits(actor: Actor): boolean {
    return this.#waiting.has(actor);
  }

  /** Undefined: the suspect is admitted. Otherwise it asks again after so many milliseconds, or when it is woken. */
  ask(suspect: Suspect): number | undefined {
    const { actor } = suspect;
    const now = this.#clock.monotonic();
    if (!this.#members.has(actor)) {
      this.#waiting.set(actor, suspect);
      const ready = Math.max(this.#readyAt, this.#pauseUntil);
      if (now < ready) return ready - now;
      this.#dropAbsent(now);
      if (this.#members.size > 0) return COME_MS;
      this.#admit(now);
    }
    const member = this.#members.get(actor);
    if (!member) return COME_MS;
    member.came = true;
    return undefined;
  }

  /** What a run that was admitted is marked with. */
  markOf(node: number): NonNullable<RunTrial["on"]> {
    return { node, ...this.#trial };
  }

  onDrain(actor: Actor, standDown: () => void): void {
    const member = this.#members.get(actor);
    if (member) member.standDown = standDown;
  }

  /** No one stays on trial: the process ends, and that is no death. */
  drain(): void {
    for (const { standDown } of this.#members.values()) standDown?.();
  }

  /** The run lived through its trial without a step, and goes on as an ordinary run. */
  survived(actor: Actor): void {
    if (!this.#members.has(actor)) return;
    this.#unproven.add(actor);
    this.#leaveTrial(actor);
  }

  /** The run made a step, ended, waits, or is no suspect. */
  leave(actor: Actor): void {
    this.#waiting.delete(actor);
    this.#unproven.delete(actor);
    this.#leaveTrial(actor);
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
    for (const { actor, wake } of members) {
      this.#waiting.delete(actor);
      this.#members.set(actor, { at: now, came: false });
      wake();
    }
  }

  #dropAbsent(now: number): void {
    for (const [actor, { at, came }] of this.#members) {
      if (!came && now - at >= COME_MS) this.#members.delete(actor);
    }
  }

  #leaveTrial(actor: Actor): void {
    if (!this.#members.delete(actor) || this.#members.size > 0) return;
    const { limit, times } = this.#passed;
    this.#passed = { limit, times: times + 1 };
    for (const { wake } of [...this.#waiting.values()]) wake();
  }
}

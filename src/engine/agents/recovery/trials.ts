/**
 * The trials of one membership of a node (M13). The suspects that the node holds are read in one query; half of them are tried at
 * once, while ordinary work continues, the others when that trial has ended. Holds no durable data: that a run is on trial is committed
 * with the run before it begins.
 */
import type { RunId } from "../../../core/ids.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { RunTrial } from "../../../core/run/trial.ts";
import { hasCrashed, isSuspect, judge, MAX_DEATHS, PAUSES_MS } from "./judge-trial.ts";
import type { NodeFates } from "./node-fates.ts";
import { type Candidate, needsLoneTrial, planTrial } from "./plan-trial.ts";

interface Member {
  /** When it was admitted. */
  readonly at: number;
  /** Whether it has come to be tried, and leaves by itself. */
  came: boolean;
  /** Ends its trial because the process is about to end. */
  standDown?: () => void;
}

interface Suspect extends Candidate {
  readonly runId: RunId;
  /** Since when this process knows it. */
  readonly since: number;
}

interface TrialsOptions {
  readonly node: number;
  readonly fates: NodeFates;
  /** Resolves when the node holds all agents that it found at its start. */
  readonly claimed: Promise<void>;
  /** How long nothing may be tried at first, because the node paused when it lost its lease. */
  readonly pauseMs?: number;
}

/** A suspect that was admitted and does not come in this time is not waited for: its agent may be unreadable. */
const COME_MS = 10_000;
/** How long a suspect that must be tried alone waits for the runs that continue without a step. */
const QUIET_MS = 60_000;
/** How many suspects one query reads. */
const MAX_READ = 10_000;

export class Trials {
  readonly #ports: Pick<Ports, "store" | "clock" | "log">;
  readonly #options: TrialsOptions;
  #opened: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  #pauseUntil: number;
  readonly #waiting = new Map<RunId, Suspect>();
  readonly #members = new Map<RunId, Member>();
  /** Interrupted runs that work and have made no step since: first resumptions, and those that survived a trial. */
  readonly #unproven = new Set<RunId>();
  /** First resumptions that wait for the end of a lone trial. */
  readonly #held = new Set<RunId>();
  /** Makes actors that wait ask again. */
  readonly #wakes = new Map<RunId, () => void>();
  /** How many were admitted to the current trial, and whether nothing else is suspected. */
  #trial = { of: 0, alone: false };

  constructor(ports: Pick<Ports, "store" | "clock" | "log">, options: TrialsOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#pauseUntil = ports.clock.monotonic() + (options.pauseMs ?? 0);
  }

  /** Resolves when the suspects that the node found at its start are known, and the first trial is planned. */
  async opened(): Promise<void> {
    this.#opened ??= this.#options.claimed.then(() => this.#read());
    try {
      await this.#opened;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  /** Undefined: the suspect is admitted. Otherwise it asks again after this many milliseconds, or when it is woken. */
  async ask(runId: RunId, trial: RunTrial, wake: () => void): Promise<number | undefined> {
    await this.opened();
    // It came later, with the agents of another node.
    if (!this.#waiting.has(runId) && !this.#members.has(runId)) await this.#read();
    if (!this.#members.has(runId)) {
      const { hasWaited = false, since = this.#ports.clock.monotonic() } = this.#waiting.get(runId) ?? {};
      this.#waiting.set(runId, { runId, trial, hasWaited, since });
      this.#admit();
    }
    const member = this.#members.get(runId);
    if (!member) return this.#wait(runId, wake);
    member.came = true;
    return undefined;
  }

  /** A run that is resumed for the first time waits while a suspect is alone on trial. Undefined: it may work. */
  holdBack(runId: RunId, wake: () => void): number | undefined {
    this.#dropAbsent();
    if (this.#trial.alone && this.#members.size > 0 && !this.#unproven.has(runId)) {
      this.#held.add(runId);
      return this.#wait(runId, wake);
    }
    this.#unproven.add(runId);
    return undefined;
  }

  /** The mark of a run that was admitted. */
  get mark(): NonNullable<RunTrial["on"]> {
    return { node: this.#options.node, ...this.#trial };
  }

  onDrain(runId: RunId, standDown: () => void): void {
    const member = this.#members.get(runId);
    if (member) member.standDown = standDown;
  }

  /** No run stays on trial: the process ends, and that is not a death. */
  drain(): void {
    for (const { standDown } of this.#members.values()) standDown?.();
  }

  /** The run lived through its trial without a step, and continues as an ordinary run. */
  survived(runId: RunId): void {
    if (!this.#members.has(runId)) return;
    this.#unproven.add(runId);
    this.#leaveTrial(runId);
  }

  /** The run made a step, ended, waits, or is not a suspect. */
  leave(runId: RunId): void {
    this.#waiting.delete(runId);
    this.#unproven.delete(runId);
    this.#held.delete(runId);
    this.#wakes.delete(runId);
    this.#leaveTrial(runId);
  }

  /** Begins the pause after a death that counts. False if something is on trial: then it must wait. */
  pause(deaths: number): boolean {
    this.#dropAbsent();
    if (this.#members.size > 0) return false;
    const until = this.#ports.clock.monotonic() + (PAUSES_MS[deaths - 1] ?? 0);
    this.#pauseUntil = Math.max(this.#pauseUntil, until);
    return true;
  }

  /** How long nothing is tried from now on, in milliseconds. */
  get pauseLeft(): number {
    return Math.max(0, this.#pauseUntil - this.#ports.clock.monotonic());
  }

  #wait(runId: RunId, wake: () => void): number {
    this.#wakes.set(runId, wake);
    return this.pauseLeft || COME_MS;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readSuspects().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readSuspects(): Promise<void> {
    const { node, fates } = this.#options;
    const fateOf = await fates.read(node);
    let found = 0;
    for (const run of await this.#ports.store.heldBackRuns({ limit: MAX_READ, node })) {
      const judged = judge(run.body.trial, fateOf);
      if (!judged || run.abort || this.#waiting.has(run.id) || this.#members.has(run.id)) continue;
      const { trial, counted } = judged;
      const { length: deaths } = trial.deaths;
      if (deaths >= MAX_DEATHS || !isSuspect(run, trial, hasCrashed(run, node, fateOf))) continue;
      if (counted) this.pause(deaths);
      this.#waiting.set(run.id, { runId: run.id, trial, hasWaited: false, since: this.#ports.clock.monotonic() });
      found += 1;
    }
    this.#admit();
    if (found === 0) return;
    const [tried, waiting] = [this.#members.size, this.#waiting.size];
    const text = "runs wait for their trial: the program stopped twice or more while they were open";
    this.#ports.log.warn(text, { found, waiting, tried, pauseMs: this.pauseLeft });
  }

  #admit(): void {
    this.#dropAbsent();
    if (this.#members.size > 0 || this.pauseLeft > 0) return;
    const quiet = this.#unproven.size === 0;
    const members = planTrial(
      [...this.#waiting.values()].filter((suspect) => quiet || !this.#waitsForQuiet(suspect)),
      quiet,
    );
    this.#trial = { of: members.length, alone: members.length === 1 && this.#unproven.size === 0 };
    const at = this.#ports.clock.monotonic();
    for (const { runId } of members) {
      this.#waiting.delete(runId);
      this.#members.set(runId, { at, came: false });
    }
    for (const [runId, suspect] of this.#waiting) this.#waiting.set(runId, { ...suspect, hasWaited: true });
    for (const { runId } of members) this.#wakes.get(runId)?.();
  }

  /** A death beside unproven runs would prove nothing about a suspect that must be tried alone. */
  #waitsForQuiet({ trial, since }: Suspect): boolean {
    return needsLoneTrial(trial) && this.#ports.clock.monotonic() - since < QUIET_MS;
  }

  #dropAbsent(): void {
    const now = this.#ports.clock.monotonic();
    for (const [runId, { at, came }] of this.#members) {
      if (!came && now - at >= COME_MS) this.#members.delete(runId);
    }
  }

  #leaveTrial(runId: RunId): void {
    if (!this.#members.delete(runId) || this.#members.size > 0) return;
    // First resumptions wait for one more trial if a suspect needs it alone. Surviving it ends that need, so they never wait for ever.
    if (this.#unproven.size === 0 && [...this.#waiting.values()].some(({ trial }) => needsLoneTrial(trial))) {
      this.#admit();
      if (this.#members.size > 0) return;
    }
    // They count as unproven from now on: the next trial is not a lone one, whoever asks first.
    for (const held of this.#held) this.#unproven.add(held);
    this.#held.clear();
    for (const wake of [...this.#wakes.values()]) wake();
  }
}

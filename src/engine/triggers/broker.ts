/**
 * Turns due times into messages. The message, the slot's record and the job's next time are one commit over the version of
 * the job that was read. So of several brokers on one store exactly one fires a slot, and none is lost (L9, M22). One timer
 * serves all jobs; the broker does not wait for runs.
 */

import type { Settings } from "../../config/settings.ts";
import { sessionKeyOf } from "../../core/agent/session-key.ts";
import type { Current } from "../../core/current.ts";
import { ConflictError, errorText, NotFoundError, RookeryError } from "../../core/errors.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { GateRunner } from "../../core/ports/gate-runner.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import { slotName } from "../../core/schedule/job-slot.ts";
import { versionOf, wakeTimeOf } from "../../core/schedule/job-times.ts";
import type { Op } from "../../core/store/change.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import type { PostRequest } from "../agents/message-ingress.ts";
import { submit } from "../commit/submit.ts";
import type { AcceptResult } from "../inbox/accept.ts";
import { ClockWatch } from "./clock-watch.ts";
import { skippedSlot } from "./cron/job-changes.ts";
import { type Firing, type JobMessage, type JobPorts, jobMessage, jobNotice, profileOf } from "./cron/job-message.ts";
import { jobDenial } from "./cron/job-rights.ts";
import { skippedText, turnedOffText } from "./cron/job-texts.ts";
import { DEFAULT_GRACE_MS, type DueDefaults, type DueStep, planDue } from "./cron/plan-due.ts";
import { replanJobs } from "./cron/replan-jobs.ts";
import { firedOps, isOver } from "./fired-ops.ts";

interface BrokerPorts extends Pick<Ports, "clock" | "ids" | "store" | "log">, Omit<JobPorts, "store"> {
  post(request: PostRequest): Promise<AcceptResult>;
  /** Absent: no gate passes. */
  readonly gates?: GateRunner;
  /** Decides a tick of the heartbeat: its message, or why it is skipped. */
  tick?(job: CronJob, firing: Firing): Promise<Tick>;
}

export interface BrokerOptions {
  readonly settings: Current<Pick<Settings, "cron" | "zone" | "session">>;
  /** Set if other nodes may use the same store: how long their leases last. */
  readonly leaseMs?: number;
  /** How often the jobs are read without a wake-up: for jobs of other nodes, and for clocks that jump. */
  readonly pollMs?: number;
}

type Tick =
  | { readonly kind: "skip"; readonly reason: string }
  | { readonly kind: "post"; readonly message: JobMessage };

type FireStep = Extract<DueStep, { kind: "fire" }>;

const POLL_MS = 30_000;
/** The wait after an error of the store. */
const RETRY_MS = 1_000;
const BATCH_SIZE = 64;

export class TriggerBroker {
  readonly #ports: BrokerPorts;
  readonly #options: BrokerOptions;
  /** Jobs whose gate or tick is being checked. They stay due until then. */
  readonly #checking = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  #cancel: (() => void) | undefined;
  #polling: Promise<void> | undefined;
  #pollAgain = false;
  #started = false;
  #checkFailed = false;
  readonly #clockWatch: ClockWatch;
  /** Whether stored due times must be compared with the zone. */
  #mustReplan = true;

  constructor(ports: BrokerPorts, options: BrokerOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#clockWatch = new ClockWatch(ports.clock, ports.store, options.leaseMs);
  }

  #defaults(): DueDefaults {
    const { cron, zone } = this.#options.settings.current;
    return {
      zone,
      missed: cron.missed,
      maxLatenessMs: cron.maxLatenessMinutes === undefined ? undefined : cron.maxLatenessMinutes * 60_000,
      graceMs: cron.missedGraceSeconds * 1_000,
    };
  }

  #zone(): string {
    return this.#options.settings.current.zone;
  }

  start(): void {
    this.#started = true;
    this.wake();
  }

  /** Handles what is due now and resolves, for a process that does not keep running. Not after `start`. */
  async fireOnce(): Promise<void> {
    await this.#replan();
    for (let again = true; again; ) {
      await this.#fireDue();
      // A job whose gate was checked may have more due times; one that failed is left to a later process.
      again = this.#checking.size > 0;
      await Promise.all(this.#checking.values());
      if (this.#checkFailed) return;
    }
  }

  /** A job has changed: reads the jobs again. Only a hint: the poll finds every change. */
  wake(): void {
    if (!this.#started || this.#stop.signal.aborted) return;
    this.#pollAgain = true;
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
      if (this.#pollAgain) this.wake();
    });
  }

  /** The configured zone may have changed: compares the stored due times with it. */
  replan(): void {
    this.#mustReplan = true;
    this.wake();
  }

  /** Begins nothing more, and resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancel?.();
    await this.#polling;
    await Promise.all(this.#checking.values());
  }

  async #poll(): Promise<void> {
    let wait = this.#options.pollMs ?? POLL_MS;
    this.#cancel?.();
    try {
      while (this.#pollAgain && !this.#stop.signal.aborted) {
        this.#pollAgain = false;
        await this.#replan();
        await this.#fireDue();
      }
      const { clock, store } = this.#ports;
      const [next] = (await store.nextJobs({ limit: 1 + this.#checking.size })).filter(
        (job) => !this.#checking.has(job.id),
      );
      const at = next && wakeTimeOf(next);
      if (at !== undefined) wait = Math.min(wait, Math.max(0, at - clock.now()));
    } catch (error) {
      wait = Math.min(wait, RETRY_MS);
      this.#ports.log.warn("cannot handle the due jobs now, trying again", { error: errorText(error) });
    }
    if (!this.#stop.signal.aborted) this.#cancel = this.#ports.clock.after(wait, () => this.wake());
  }

  async #replan(): Promise<void> {
    const setBack = await this.#clockWatch.setBack();
    if (!this.#mustReplan && !setBack) return;
    // Before it begins: the zone may change again while the jobs are read.
    this.#mustReplan = false;
    try {
      await replanJobs(this.#ports, { zone: this.#zone(), setBack });
    } catch (error) {
      this.#mustReplan = true;
      throw error;
    }
    if (setBack) this.#clockWatch.planned(setBack);
  }

  async #fireDue(): Promise<void> {
    const { clock, store } = this.#ports;
    for (;;) {
      const limit = BATCH_SIZE + this.#checking.size;
      const due = await store.nextJobs({ before: clock.now(), limit });
      // Without a heartbeat its ticks stay due.
      const free = due.filter(({ id, system }) => !this.#checking.has(id) && (!system || this.#ports.tick));
      if (free.length === 0) return;
      for (const job of free) {
        if (this.#stop.signal.aborted) return;
        await this.#handle(job);
      }
    }
  }

  /** One step of one job. Throws errors of the store. An error of the job itself turns the job off. */
  async #handle(job: CronJob): Promise<void> {
    await this.#step(job).catch((error) => this.#afterError(job, error));
  }

  async #afterError(job: CronJob, error: unknown): Promise<void> {
    if (error instanceof ConflictError) return this.#afterConflict(job);
    if (!(error instanceof RookeryError) || error.retryable) throw error;
    await this.#turnOff(job, errorText(error));
  }

  async #step(job: CronJob): Promise<void> {
    const { clock } = this.#ports;
    const step = planDue(job, clock.now(), this.#defaults());
    if (!step) return;
    if (step.kind === "skip") return this.#skip(job, step);
    if (await this.#overlaps(job, step)) return this.#skipOne(job, step, "overlap");
    // Before its gate: that is an effect too.
    const denial = await jobDenial(this.#ports, job);
    if (denial !== undefined) return this.#turnOff(job, denial);
    // Gates and ticks (which have gates) may take long. They run beside the loop and do not delay other jobs.
    if (!job.gate && !job.system) return this.#fire(job, step);
    const checking = this.#check(job, step).finally(() => {
      this.#checking.delete(job.id);
      this.wake();
    });
    this.#checking.set(job.id, checking);
  }

  /** Whether the last run is still active. Read from the agent, so that no stale mark can remain. */
  async #overlaps(job: CronJob, { lateMs }: FireStep): Promise<boolean> {
    const { missed, graceMs = DEFAULT_GRACE_MS } = this.#defaults();
    const all = (job.missed ?? missed) === "all";
    // A job that wants every due time queues those that come during a run.
    const overlap = job.overlap ?? (all ? "queue" : "skip");
    // An agent that the job does not own may be busy with other things.
    if (job.system || job.targetAgentId || job.sessionTarget !== "isolated" || overlap === "queue") return false;
    if (all && lateMs > graceMs) return false;
    const { store } = this.#ports;
    const agent = await store.agentByKey(sessionKeyOf({ type: "cron", id: job.id }, profileOf(job)));
    return agent !== undefined && (agent.waiting > 0 || agent.runId !== undefined);
  }

  /** Does not throw. After an error of the store the job stays due. */
  async #check(job: CronJob, step: FireStep): Promise<void> {
    try {
      await this.#fireIfPassed(job, step).catch((error) => this.#afterError(job, error));
    } catch (error) {
      this.#checkFailed = true;
      this.#ports.log.warn("cannot handle a job now, trying again", { job: job.id, error: errorText(error) });
      await sleep(this.#ports.clock, RETRY_MS);
    }
  }

  async #fireIfPassed(job: CronJob, step: FireStep): Promise<void> {
    if (!job.gate) return this.#fire(job, step);
    const verdict = await this.#ports.gates?.check(job.gate, this.#stop.signal);
    if (this.#stop.signal.aborted) return;
    if (!verdict?.pass) return this.#skipOne(job, step, `gate: ${verdict?.reason ?? "gates are not allowed here"}`);
    // A gate may take long: a right may have been taken away.
    const denial = await jobDenial(this.#ports, job);
    return denial === undefined ? this.#fire(job, step, verdict.output) : this.#turnOff(job, denial);
  }

  /**
   * Another broker was first, or the job was edited: the next read finds the new version. If the job has not changed, its
   * slot already has a record (a job that was reset by hand). Then the due time is skipped; otherwise it would be tried
   * without end.
   */
  async #afterConflict(job: CronJob): Promise<void> {
    const { store, clock, log } = this.#ports;
    const now = await store.job(job.id);
    const step = now && planDue(now, clock.now(), this.#defaults());
    if (!now || !step || versionOf(now) !== versionOf(job)) return;
    if (!(await store.jobSlot(job.id, slotName(now, step.dueAt)))) return;
    log.warn("passing over a due time that already has an outcome", { job: job.id, dueAt: step.dueAt });
    const put = { ...now, state: { ...now.state, nextRunAtMs: step.nextAt } };
    await this.#commit("trigger.pass", [{ op: "job.put", job: put, expect: versionOf(now) }]);
  }

  async #fire(job: CronJob, step: FireStep, gateOutput?: string): Promise<void> {
    const { clock } = this.#ports;
    const { dueAt, lateMs, nextAt } = step;
    const now = clock.now();
    const slot = slotName(job, dueAt);
    const { graceMs } = this.#defaults();
    const { mainKey } = this.#options.settings.current.session;
    const firing: Firing = { slot, dueAt, lateMs, graceMs, now, zone: this.#zone(), mainKey, gateOutput };
    const tick = job.system ? await this.#ports.tick?.(job, firing) : undefined;
    if (job.system && tick?.kind !== "post") return this.#skipOne(job, step, tick?.reason ?? "disabled");
    const message = tick?.kind === "post" ? tick.message : await jobMessage(this.#ports, job, firing);
    try {
      await this.#ports.post({ ...message, key: slotKey(job, slot), also: firedOps(job, firing, nextAt, message) });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      const reason = errorText(error);
      return isOver(job, nextAt) ? this.#turnOff(job, reason) : this.#skipOne(job, step, reason);
    }
  }

  #skipOne(job: CronJob, { dueAt, nextAt }: FireStep, reason: string): Promise<void> {
    return this.#skip(job, { kind: "skip", dueAt, untilAt: dueAt, count: 1, reason, nextAt });
  }

  async #skip(job: CronJob, step: Extract<DueStep, { kind: "skip" }>): Promise<void> {
    const now = this.#ports.clock.now();
    const state = { ...job.state, nextRunAtMs: step.nextAt, lastStatus: "skipped" as const };
    const isLast = isOver(job, step.nextAt);
    const ops: readonly Op[] = [
      { op: "job.slot", slot: skippedSlot(job, step, now) },
      { op: "job.put", job: { ...job, enabled: !isLast, state }, expect: versionOf(job) },
    ];
    if (!isLast) return this.#commit("trigger.skip", ops);
    await this.#withNotice(job, skippedText(job, step.reason, step.dueAt, this.#zone()), "trigger.skip", ops);
  }

  /** A job that cannot be fired, or may not be any more, would be tried without end. */
  async #turnOff(job: CronJob, reason: string): Promise<void> {
    const now = this.#ports.clock.now();
    const dueAt = job.state.nextRunAtMs ?? now;
    const { nextRunAtMs: _, ...state } = job.state;
    const off = { ...job, enabled: false, state: { ...state, lastError: reason, disabledReason: reason } };
    this.#ports.log.error("turning off a job that cannot be fired", { job: job.id, reason });
    const ops: readonly Op[] = [
      { op: "job.slot", slot: skippedSlot(job, { dueAt, untilAt: dueAt, count: 1, reason }, now) },
      { op: "job.put", job: off, expect: versionOf(job) },
    ];
    await this.#withNotice(job, turnedOffText(job, reason), "trigger.off", ops);
  }

  /** Commits the end of a job together with a notice to its person (M46). */
  async #withNotice(job: CronJob, text: string, site: CommitSite, ops: readonly Op[]): Promise<void> {
    try {
      const { mainKey } = this.#options.settings.current.session;
      await this.#ports.post({ ...(await jobNotice(this.#ports, job, text, mainKey)), also: ops });
    } catch (error) {
      if (!(error instanceof RookeryError) || error.retryable || error instanceof ConflictError) throw error;
      // There is no conversation to tell it in.
      await this.#commit(site, ops);
    }
  }

  async #commit(site: CommitSite, ops: readonly Op[]): Promise<void> {
    const result = await submit(this.#ports, site, ops);
    if (!result.ok) throw new ConflictError(result.detail);
  }
}

/** The dedupe key of a slot's message. */
const slotKey = (job: Pick<CronJob, "id">, slot: string): string => `slot:${job.id}:${slot}`;

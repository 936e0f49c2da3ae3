/**
 * Runs the heartbeats of a node: the due ticks of each profile's job, and ticks on request. Requests that come together
 * become one tick with the most important reason.
 */

import { errorText, RookeryError } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { JobSlot } from "../../../core/schedule/job-slot.ts";
import type { Op } from "../../../core/store/change.ts";
import { hostZone } from "../../../core/zoned-time.ts";
import type { AgentSystem } from "../../agents/agent-system.ts";
import { firedSlot, skippedSlot } from "../cron/job-changes.ts";
import type { Firing } from "../cron/job-message.ts";
import { decideTick, type TickDecision, type TickPorts } from "./decide-tick.ts";
import {
  type HeartbeatConfig,
  type HeartbeatSections,
  type HeartbeatSummary,
  heartbeatConfigOf,
  heartbeatProfiles,
  resolveHeartbeatSummary,
} from "./heartbeat-config.ts";
import { commitHeartbeat, heartbeatJobId, syncHeartbeatJobs } from "./heartbeat-job.ts";
import { HeartbeatTasks } from "./heartbeat-tasks.ts";

type HeartbeatPorts = Pick<Ports, "clock" | "ids" | "store" | "log"> & TickPorts;

export type HeartbeatRunResult =
  | { readonly status: "ran"; readonly durationMs: number }
  | { readonly status: "skipped"; readonly reason: string }
  | { readonly status: "failed"; readonly reason: string };

export interface HeartbeatStatus extends HeartbeatSummary {
  readonly profile: string;
  readonly nextDueMs: number | undefined;
  readonly lastRunMs: number | undefined;
  /** The latest slots, newest first. */
  readonly ticks: readonly (JobSlot & { readonly n: number })[];
}

const WAKE_COALESCE_MS = 250;
const WAKE_RETRY_MS = 1_000;
const WAKE_RETRY_MAX_MS = 60_000;
const SYNC_RETRY_MS = 1_000;
/** How long `runHeartbeatOnce` waits for its run. */
const RUN_TIMEOUT_MS = 24 * 3_600_000;
/** Reasons for a tick, the least important first. */
const IMPORTANCE: readonly string[] = ["interval", "retry", "manual", "webhook", "cron", "exec-event"];
const importanceOf = (reason: string): number => IMPORTANCE.indexOf(reason.split(":")[0] ?? "");

interface Wake {
  reason: string;
  retryMs: number;
  cancel: () => void;
}

export class HeartbeatRunner {
  readonly tasks: HeartbeatTasks;
  readonly #ports: HeartbeatPorts;
  readonly #wakes = new Map<string, Wake>();
  #config: HeartbeatSections;
  #agents: Pick<AgentSystem, "post" | "postAndAwait"> | undefined;
  #stopped = false;
  #cancelSync: (() => void) | undefined;

  constructor(ports: HeartbeatPorts, config: HeartbeatSections) {
    this.tasks = new HeartbeatTasks(ports);
    this.#ports = ports;
    this.#config = config;
  }

  /** Makes the jobs match the configuration; later if the store does not answer now. */
  async start(agents: Pick<AgentSystem, "post" | "postAndAwait">): Promise<void> {
    this.#agents = agents;
    await this.#syncOrRetry();
  }

  async #syncOrRetry(): Promise<void> {
    const { clock, log } = this.#ports;
    if (this.#stopped) return;
    try {
      await syncHeartbeatJobs(this.#ports, this.#config);
    } catch (error) {
      if (!(error instanceof RookeryError && error.retryable)) throw error;
      log.warn("cannot sync the heartbeat jobs now, trying again", { error: errorText(error) });
      this.#cancelSync = clock.after(SYNC_RETRY_MS, () => {
        this.#syncOrRetry().catch((again) => log.error("cannot sync the heartbeat jobs", { error: errorText(again) }));
      });
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelSync?.();
    for (const { cancel } of this.#wakes.values()) cancel();
  }

  /** The next tick uses the new configuration. */
  async updateConfig(config: HeartbeatSections): Promise<void> {
    this.#config = config;
    await this.#syncOrRetry();
  }

  configOf(profile: string): HeartbeatConfig {
    return heartbeatConfigOf(this.#config, profile);
  }

  summary(profile: string): HeartbeatSummary {
    return resolveHeartbeatSummary(this.#config, profile);
  }

  async status(limit = 10): Promise<readonly HeartbeatStatus[]> {
    const { store } = this.#ports;
    return Promise.all(
      heartbeatProfiles(this.#config).map(async (profile) => {
        const id = heartbeatJobId(profile);
        const job = await store.job(id);
        const ticks = await store.jobSlots(id, { limit });
        const { nextRunAtMs: nextDueMs, lastRunAtMs: lastRunMs } = job?.state ?? {};
        return { ...this.summary(profile), profile, nextDueMs: job?.enabled ? nextDueMs : undefined, lastRunMs, ticks };
      }),
    );
  }

  /** Decides a due tick for the broker. */
  async tick(job: CronJob, firing: Firing): Promise<TickDecision> {
    const profile = job.agentId ?? "";
    const decision = await this.#decide(profile, job, firing.slot, "interval");
    if (decision.kind === "skip" && decision.reason === "requests-in-flight") this.requestNow("retry", profile);
    if (decision.kind === "post" && decision.events) this.#postEvents(decision.events, firing.slot, job);
    return decision;
  }

  /** Requests a tick soon. Several requests become one tick. */
  requestNow(
    reason = "manual",
    profile?: string,
    coalesceMs = reason === "retry" ? WAKE_RETRY_MS : WAKE_COALESCE_MS,
  ): void {
    if (this.#stopped || !this.#agents) return;
    for (const name of profile === undefined ? heartbeatProfiles(this.#config) : [profile]) {
      const waiting = this.#wakes.get(name);
      if (waiting && importanceOf(waiting.reason) >= importanceOf(reason)) continue;
      waiting?.cancel();
      this.#scheduleWake(name, reason, coalesceMs, waiting?.retryMs ?? WAKE_RETRY_MS);
    }
  }

  #scheduleWake(profile: string, reason: string, ms: number, retryMs: number): void {
    const cancel = this.#ports.clock.after(ms, () => {
      this.#wakes.delete(profile);
      void this.#runRequested(profile, reason, retryMs).catch((error) =>
        this.#ports.log.warn("a requested heartbeat failed", { profile, error: errorText(error) }),
      );
    });
    this.#wakes.set(profile, { reason, retryMs, cancel });
  }

  async #runRequested(profile: string, reason: string, retryMs: number): Promise<void> {
    const result = await this.#postNow(profile, reason, { record: reason !== "retry", wait: false });
    if (result.status !== "skipped" || result.reason !== "requests-in-flight" || this.#stopped) return;
    if (!this.#wakes.has(profile))
      this.#scheduleWake(profile, reason, retryMs, Math.min(2 * retryMs, WAKE_RETRY_MAX_MS));
  }

  /** Runs one heartbeat now and resolves with its result. */
  runHeartbeatOnce(opts: { readonly agentId?: string; readonly reason?: string } = {}): Promise<HeartbeatRunResult> {
    const profile = opts.agentId ?? heartbeatProfiles(this.#config)[0] ?? "";
    return this.#postNow(profile, opts.reason ?? "manual", { record: true, wait: true });
  }

  async #postNow(
    profile: string,
    reason: string,
    { record, wait }: { readonly record: boolean; readonly wait: boolean },
  ): Promise<HeartbeatRunResult> {
    const { ids, clock, store } = this.#ports;
    const now = clock.now();
    const slot = `wake@${ids.uuid()}`;
    const job = await store.job(heartbeatJobId(profile));
    const decision = await this.#decide(profile, job, slot, reason);
    if (decision.kind === "skip") {
      const covered = { dueAt: now, untilAt: now, count: 1, reason: decision.reason };
      if (record && job) {
        const skipped = { ...skippedSlot(job, covered, now), slot };
        await commitHeartbeat(this.#ports, "heartbeat.skip", [{ op: "job.slot", slot: skipped }]);
      }
      return { status: "skipped", reason: decision.reason };
    }
    const agents = this.#agents;
    if (!agents) return { status: "failed", reason: "the agents are not started" };
    const also: readonly Op[] = job ? [{ op: "job.slot", slot: firedSlot(job, now, now, slot) }] : [];
    const request = { ...decision.message, key: `slot:${heartbeatJobId(profile)}:${slot}`, also };
    if (decision.events && job) this.#postEvents(decision.events, slot, job);
    if (!wait) {
      await agents.post(request);
      return { status: "ran", durationMs: 0 };
    }
    try {
      const { result } = await agents.postAndAwait(request, { timeoutMs: RUN_TIMEOUT_MS });
      if (result && result.outcome !== "ok")
        return { status: "failed", reason: result.meta.error?.message ?? result.outcome };
      return { status: "ran", durationMs: result?.meta.durationMs ?? clock.now() - now };
    } catch (error) {
      return { status: "failed", reason: errorText(error) };
    }
  }

  #decide(profile: string, job: CronJob | undefined, slot: string, reason: string): Promise<TickDecision> {
    const { timeZone, mainKey } = this.#config.session ?? {};
    return decideTick(this.#ports, {
      profile,
      heartbeat: this.configOf(profile),
      summary: this.summary(profile),
      job,
      slot,
      reason,
      now: this.#ports.clock.now(),
      zones: { user: timeZone, host: hostZone() },
      mainKey,
    });
  }

  /** Gives the main agent its own run for the events. It belongs to no slot: if it is lost, the next tick finds the events. */
  #postEvents(message: Extract<TickDecision, { kind: "post" }>["message"], slot: string, job: CronJob): void {
    const { body } = message;
    const own = body.kind === "trigger" ? { ...body, trigger: { type: body.trigger.type, id: body.trigger.id } } : body;
    void this.#agents
      ?.post({ ...message, body: own, key: `slot:${job.id}:${slot}:events` })
      .catch((error) =>
        this.#ports.log.warn("cannot post the events to the main agent now", { error: errorText(error) }),
      );
  }
}

/** Starts the heartbeat. The agents must be started. `updateConfig` applies a changed configuration. */
export async function startHeartbeatRunner(opts: {
  readonly ports: HeartbeatPorts;
  readonly cfg: HeartbeatSections;
  readonly agents: Pick<AgentSystem, "post" | "postAndAwait">;
  readonly abortSignal?: AbortSignal;
}): Promise<HeartbeatRunner> {
  const runner = new HeartbeatRunner(opts.ports, opts.cfg);
  await runner.start(opts.agents);
  opts.abortSignal?.addEventListener("abort", () => runner.stop(), { once: true });
  return runner;
}

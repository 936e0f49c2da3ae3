/**
 * The heartbeat of a node: its ticks are slots of an ordinary durable job per profile, so they neither stop nor start anew
 * with the program, and each leaves a receipt. Beside them ticks can be asked for at once; requests that come together
 * are one, and the most important reason stays.
 */

import { DeniedError, errorText, NotFoundError, RookeryError } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { type CronJob, versionOf } from "../../../core/schedule/job.ts";
import type { JobSlot } from "../../../core/schedule/job-slot.ts";
import type { Op } from "../../../core/store/change.ts";
import { hostZone } from "../../../core/zoned-time.ts";
import type { AgentSystem } from "../../agents/agent-system.ts";
import { submit } from "../../commit/submit.ts";
import { addedJob, editedJob, firedSlot, skippedSlot } from "../cron/job-changes.ts";
import type { Firing } from "../cron/job-message.ts";
import type { Zones } from "./active-hours.ts";
import {
  type HeartbeatConfig,
  type HeartbeatSections,
  type HeartbeatSummary,
  heartbeatConfigOf,
  heartbeatProfiles,
  resolveHeartbeatSummary,
} from "./heartbeat-config.ts";
import type { HeartbeatTask } from "./heartbeat-tasks.ts";
import { decideTick, heartbeatJobId, type TickDecision, type TickPorts } from "./tick.ts";

export type HeartbeatPorts = Pick<Ports, "clock" | "ids" | "store" | "log"> & TickPorts;

export interface HeartbeatOptions {
  /** The person's zone, for active hours. */
  readonly zone?: string;
  readonly mainKey?: string;
}

export type HeartbeatRunResult =
  | { readonly status: "ran"; readonly durationMs: number }
  | { readonly status: "skipped"; readonly reason: string }
  | { readonly status: "failed"; readonly reason: string };

export interface HeartbeatStatus extends HeartbeatSummary {
  readonly profile: string;
  readonly nextDueMs: number | undefined;
  readonly lastRunMs: number | undefined;
  /** The newest receipts, newest first. */
  readonly ticks: readonly JobSlot[];
}

export const WAKE_COALESCE_MS = 250;
export const WAKE_RETRY_MS = 1_000;
const WAKE_RETRY_MAX_MS = 60_000;
const SYNC_AGAIN_MS = 1_000;
/** What is more important stays when several reasons come together. */
const IMPORTANCE: readonly string[] = ["interval", "retry", "manual", "webhook", "cron", "exec-event"];
const importanceOf = (reason: string): number => IMPORTANCE.indexOf(reason.split(":")[0] ?? "");

interface Wake {
  reason: string;
  retryMs: number;
  cancel: () => void;
}

export class HeartbeatRunner {
  readonly #ports: HeartbeatPorts;
  readonly #options: HeartbeatOptions;
  readonly #wakes = new Map<string, Wake>();
  #config: HeartbeatSections;
  #agents: Pick<AgentSystem, "post" | "postAndAwait"> | undefined;
  #stopped = false;
  #cancelSync: (() => void) | undefined;

  constructor(ports: HeartbeatPorts, config: HeartbeatSections, options: HeartbeatOptions = {}) {
    this.#ports = ports;
    this.#config = config;
    this.#options = options;
  }

  get #zones(): Zones {
    const { zone } = this.#options;
    return { ...(zone === undefined ? {} : { user: zone }), host: hostZone() };
  }

  /**
   * Brings the rows in step with the configuration; where the store does not answer now, as soon as it does. An interval that
   * stays the same keeps its rhythm.
   */
  async start(agents: Pick<AgentSystem, "post" | "postAndAwait">): Promise<void> {
    this.#agents = agents;
    await this.#syncOrLater();
  }

  async #syncOrLater(): Promise<void> {
    const { clock, log } = this.#ports;
    if (this.#stopped) return;
    try {
      await this.#sync();
    } catch (error) {
      if (!(error instanceof RookeryError && error.retryable)) throw error;
      log.warn("the heartbeat's rows will be looked at a little later", { error: errorText(error) });
      this.#cancelSync = clock.after(SYNC_AGAIN_MS, () => {
        this.#syncOrLater().catch((again) => log.error("the heartbeat is as it was", { error: errorText(again) }));
      });
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelSync?.();
    for (const { cancel } of this.#wakes.values()) cancel();
    this.#wakes.clear();
  }

  /** The configuration has changed; the next tick goes by the new one. */
  async updateConfig(config: HeartbeatSections): Promise<void> {
    this.#config = config;
    await this.#sync();
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

  /** What a due tick says, for the broker. */
  async tick(job: CronJob, firing: Firing): Promise<TickDecision> {
    const profile = job.agentId ?? "";
    const decision = await this.#decide(profile, job, firing.slot, "interval");
    if (decision.kind === "skip" && decision.reason === "requests-in-flight") this.requestNow("retry", profile);
    if (decision.kind === "post" && decision.events) this.#tellMain(decision.events, firing.slot, job);
    return decision;
  }

  /** Asks for a tick soon. Several requests are one. */
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
      this.#wakeIn(name, reason, coalesceMs, waiting?.retryMs ?? WAKE_RETRY_MS);
    }
  }

  #wakeIn(profile: string, reason: string, ms: number, retryMs: number): void {
    const cancel = this.#ports.clock.after(ms, () => {
      this.#wakes.delete(profile);
      void this.#woken(profile, reason, retryMs).catch((error) =>
        this.#ports.log.warn("a heartbeat that was asked for could not be made", { profile, error: errorText(error) }),
      );
    });
    this.#wakes.set(profile, { reason, retryMs, cancel });
  }

  async #woken(profile: string, reason: string, retryMs: number): Promise<void> {
    const result = await this.#postNow(profile, reason, { receipt: reason !== "retry", wait: false });
    if (result.status !== "skipped" || result.reason !== "requests-in-flight" || this.#stopped) return;
    if (!this.#wakes.has(profile)) this.#wakeIn(profile, reason, retryMs, Math.min(2 * retryMs, WAKE_RETRY_MAX_MS));
  }

  /** One heartbeat, now, through its eight steps; resolves with how it ended. */
  runHeartbeatOnce(opts: { readonly agentId?: string; readonly reason?: string } = {}): Promise<HeartbeatRunResult> {
    const profile = opts.agentId ?? heartbeatProfiles(this.#config)[0] ?? "";
    return this.#postNow(profile, opts.reason ?? "manual", { receipt: true, wait: true });
  }

  async #postNow(
    profile: string,
    reason: string,
    { receipt, wait }: { readonly receipt: boolean; readonly wait: boolean },
  ): Promise<HeartbeatRunResult> {
    const { ids, clock, store } = this.#ports;
    const now = clock.now();
    const slot = `wake@${ids.uuid()}`;
    const job = await store.job(heartbeatJobId(profile));
    const decision = await this.#decide(profile, job, slot, reason);
    if (decision.kind === "skip") {
      const covered = { dueAt: now, untilAt: now, count: 1, reason: decision.reason };
      if (receipt && job)
        await this.#commit("heartbeat.skip", [{ op: "job.slot", slot: { ...skippedSlot(job, covered, now), slot } }]);
      return { status: "skipped", reason: decision.reason };
    }
    const agents = this.#agents;
    if (!agents) return { status: "failed", reason: "the agents have not been started" };
    const also: readonly Op[] = job ? [{ op: "job.slot", slot: firedSlot(job, now, now, slot) }] : [];
    const posting = { ...decision.message, key: `slot:${heartbeatJobId(profile)}:${slot}`, also };
    if (decision.events && job) this.#tellMain(decision.events, slot, job);
    if (!wait) {
      await agents.post(posting);
      return { status: "ran", durationMs: 0 };
    }
    try {
      const { result } = await agents.postAndAwait(posting, { timeoutMs: 24 * 3_600_000 });
      if (result && result.outcome !== "ok")
        return { status: "failed", reason: result.meta.error?.message ?? result.outcome };
      return { status: "ran", durationMs: result?.meta.durationMs ?? clock.now() - now };
    } catch (error) {
      return { status: "failed", reason: errorText(error) };
    }
  }

  #decide(profile: string, job: CronJob | undefined, slot: string, reason: string): Promise<TickDecision> {
    return decideTick(this.#ports, {
      profile,
      heartbeat: this.configOf(profile),
      summary: this.summary(profile),
      job,
      slot,
      reason,
      now: this.#ports.clock.now(),
      zones: this.#zones,
      mainKey: this.#options.mainKey,
    });
  }

  /** Main's own turn beside the heartbeat agent's: no slot hangs on it, what is lost here is found by the next tick. */
  #tellMain(message: Extract<TickDecision, { kind: "post" }>["message"], slot: string, job: CronJob): void {
    const { body } = message;
    const own = body.kind === "trigger" ? { ...body, trigger: { type: body.trigger.type, id: body.trigger.id } } : body;
    void this.#agents
      ?.post({ ...message, body: own, key: `slot:${job.id}:${slot}:events` })
      .catch((error) => this.#ports.log.warn("main will be told of its events later", { error: errorText(error) }));
  }

  // -- the tasks a tick is about

  /** Those kept with the heartbeat's row, and those that are files. */
  async tasks(profile: string): Promise<readonly (HeartbeatTask & { readonly file?: string })[]> {
    const own = (await this.#ports.store.job(heartbeatJobId(profile)))?.tasks ?? [];
    const files = (await this.#ports.tasks?.(profile)) ?? [];
    return [...own, ...files.map((task) => ({ ...task, file: `heartbeat/${task.id}.md` }))];
  }

  /** Adds a task, or replaces the one with its id. */
  async addTaskOps(
    profile: string,
    task: { readonly id?: string; readonly title: string; readonly prompt: string },
  ): Promise<{ readonly id: string; readonly ops: readonly Op[] }> {
    const job = await this.#row(profile);
    const id = task.id ?? slugOf(task.title, job.tasks ?? []);
    const { title, prompt } = task;
    const tasks = [...(job.tasks ?? []).filter((one) => one.id !== id), { id, title, prompt }];
    return { id, ops: [{ op: "job.put", job: { ...job, tasks }, expect: versionOf(job) }] };
  }

  async removeTaskOps(profile: string, id: string): Promise<readonly Op[]> {
    const job = await this.#row(profile);
    const tasks = (job.tasks ?? []).filter((task) => task.id !== id);
    if (tasks.length === (job.tasks ?? []).length) {
      const file = ((await this.#ports.tasks?.(profile)) ?? []).some((task) => task.id === id);
      if (file) throw new DeniedError(`This task is the file heartbeat/${id}.md.`, { hint: "Remove the file." });
      throw new NotFoundError(`There is no heartbeat task ${id}.`);
    }
    return [{ op: "job.put", job: { ...job, tasks }, expect: versionOf(job) }];
  }

  async #row(profile: string): Promise<CronJob> {
    const job = await this.#ports.store.job(heartbeatJobId(profile));
    if (job) return job;
    throw new NotFoundError(`The profile ${profile} has no heartbeat.`, {
      hint: "Turn it on: heartbeat.every in the configuration.",
    });
  }

  async #sync(): Promise<void> {
    const wanted = new Set(heartbeatProfiles(this.#config));
    const { store } = this.#ports;
    for (const profile of wanted) await this.#syncProfile(profile);
    // Profiles that no longer have a heartbeat.
    for (const job of await store.jobs({ limit: 1_000, after: "heartbeat" })) {
      if (!job.id.startsWith("heartbeat:")) break;
      if (job.system === "heartbeat" && job.enabled && !wanted.has(job.agentId ?? ""))
        await this.#edit(job, { enabled: false });
    }
  }

  async #syncProfile(profile: string): Promise<void> {
    const { store, clock } = this.#ports;
    const { enabled, everyMs } = this.summary(profile);
    const id = heartbeatJobId(profile);
    const job = await store.job(id);
    if (!job && everyMs !== null) {
      const create = {
        name: `heartbeat of ${profile}`,
        schedule: { kind: "every", everyMs },
        payload: { kind: "systemEvent", text: "heartbeat" },
        wakeMode: "now",
      } as const;
      const made = addedJob(id, create, { profile }, { now: clock.now() });
      const row: CronJob = { ...made.job, system: "heartbeat", missed: "once" };
      await this.#commit("heartbeat.add", [{ op: "job.put", job: row, expect: 0 }]);
      return;
    }
    if (!job) return;
    const same =
      job.enabled === enabled &&
      (everyMs === null || (job.schedule.kind === "every" && job.schedule.everyMs === everyMs));
    // Turned off because it failed, it stays off until somebody changes the configuration or turns it on.
    if (same || (job.state.disabledReason !== undefined && enabled && sameInterval(job, everyMs))) return;
    await this.#edit(job, { enabled, ...(everyMs === null ? {} : { schedule: { kind: "every", everyMs } as const }) });
  }

  async #edit(job: CronJob, patch: Parameters<typeof editedJob>[1]): Promise<void> {
    const { ops } = editedJob(job, patch, { now: this.#ports.clock.now() });
    await this.#commit("heartbeat.edit", ops);
  }

  /** Refused where another node was first: it has the same configuration, or its own tick will tell. */
  async #commit(site: string, ops: readonly Op[]): Promise<void> {
    const result = await submit(this.#ports, site, ops);
    if (!result.ok) this.#ports.log.info("a heartbeat's row was changed by somebody else", { detail: result.detail });
  }
}

/** A word for a task, from its title. */
function slugOf(title: string, taken: readonly { readonly id: string }[]): string {
  const base =
    title
      .toLowerCase()
      .replace(/[^a-z0-9]+/gu, "-")
      .replace(/^-+|-+$/gu, "")
      .slice(0, 60) || "task";
  const names = new Set(taken.map(({ id }) => id));
  let slug = base;
  for (let n = 2; names.has(slug); n++) slug = `${base}-${n}`;
  return slug;
}

const sameInterval = (job: CronJob, everyMs: number | null): boolean =>
  job.schedule.kind === "every" && job.schedule.everyMs === everyMs && versionOf(job) > 0;

/** Starts the heartbeat on agents that have been started. `updateConfig` follows a changed configuration while it runs. */
export async function startHeartbeatRunner(opts: {
  readonly ports: HeartbeatPorts;
  readonly cfg: HeartbeatSections;
  readonly agents: Pick<AgentSystem, "post" | "postAndAwait">;
  readonly options?: HeartbeatOptions;
  readonly abortSignal?: AbortSignal;
}): Promise<HeartbeatRunner> {
  const runner = new HeartbeatRunner(opts.ports, opts.cfg, opts.options);
  await runner.start(opts.agents);
  opts.abortSignal?.addEventListener("abort", () => runner.stop(), { once: true });
  return runner;
}

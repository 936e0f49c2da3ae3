/**
 * Manages jobs, for tools, the command line and the gateway. Functions named `…Ops` return ops that a tool commits with its
 * result (M12). The others commit at once, and retry if the job changed in between.
 */

import type { AgentRecord } from "../../../core/agent/agent.ts";
import { buildAgentMainSessionKey } from "../../../core/agent/session-key.ts";
import type { Current } from "../../../core/current.ts";
import { shortened } from "../../../core/cut-text.ts";
import type { DeliveryState } from "../../../core/delivery/delivery.ts";
import { ConflictError, DeniedError, errorText, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { OWNER } from "../../../core/people/person.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { type CronJob, defaultWakeMode } from "../../../core/schedule/job.ts";
import { type JobSlot, MANUAL_SLOT } from "../../../core/schedule/job-slot.ts";
import { versionOf, zoneOf } from "../../../core/schedule/job-times.ts";
import type { Op, Recipient } from "../../../core/store/change.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import type { PostRequest } from "../../agents/message-ingress.ts";
import { submit } from "../../commit/submit.ts";
import { seedAgent } from "../../context/seed-agent.ts";
import { recipientOf } from "../../inbox/accept.ts";
import { inherited, ofJob } from "../../people/on-behalf.ts";
import { describeSchedule, wallTime } from "./describe-schedule.ts";
import { addedJob, type ChangedJob, editedJob, firedSlot, type JobMaker, removedJob } from "./job-changes.ts";
import { type JobMessage, type JobPorts, jobMessage, mainAddress } from "./job-message.ts";
import { jobDenial } from "./job-rights.ts";
import { normalizeCronJobCreate, normalizeCronJobPatch } from "./normalize-job.ts";
import { leadingTime } from "./read-time.ts";
import { nextRunTimes } from "./schedule.ts";

interface CronServicePorts extends Pick<Ports, "clock" | "ids" | "store">, Omit<JobPorts, "store"> {
  /** Called after jobs were changed here. */
  changed?(): void;
  /** Posts and wakes the recipient at once. Without it the next poll finds the message. */
  post?(request: PostRequest): Promise<unknown> | undefined;
}

export interface CronServiceOptions {
  /** Describes the wrong names in a job that is added or changed; undefined if all are right. */
  jobProblem?(job: CronJob): string | undefined;
  /** The zone of schedules without one, and the key of main conversations. */
  readonly settings: Current<ScheduleSettings>;
}

interface ScheduleSettings {
  readonly zone: string;
  readonly session: { readonly mainKey?: string };
}

/** A job with its times in readable form. */
export interface JobView extends CronJob {
  /** Its schedule as a sentence. */
  readonly when: string;
  readonly nextTimes: readonly { readonly atMs: number; readonly text: string }[];
}

/** A slot with the current state of its deliveries. */
export interface SlotView extends JobSlot {
  readonly deliveries: readonly { readonly id: string; readonly state: DeliveryState; readonly reason?: string }[];
}

interface RunNowOptions {
  /** Who starts it: it acts for this person too, whose limits count. */
  readonly by?: Behalf;
  readonly also?: (started: { readonly slot: string }) => readonly Op[];
}

interface RunsPage {
  readonly limit?: number;
  readonly beforeN?: number;
}

/** The longest name of a reminder: the beginning of its text. */
const MAX_NAME = 60;
const DEFAULT_RUNS = 200;
const MAX_RUNS = 5_000;
const TRIES = 5;

/** Ids are never used in paths, and still must not look like one. */
function checkedJobId(id: string): string {
  if (id.trim() === "") throw new InvalidInputError("Cron task id is required.");
  if (!/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$/u.test(id) || id.includes("..")) {
    throw new InvalidInputError("Cron task id contains invalid characters.");
  }
  return id;
}

export class CronService {
  readonly #ports: CronServicePorts;
  readonly #options: CronServiceOptions;

  constructor(ports: CronServicePorts, options: CronServiceOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  #mainKey(): string | undefined {
    return this.#options.settings.current.session.mainKey;
  }

  #zone(): string {
    return this.#options.settings.current.zone;
  }

  /** All jobs by id, without the heartbeat's. Disabled ones only with `includeDisabled`. */
  async list(
    options: { readonly includeDisabled?: boolean; readonly limit?: number; readonly after?: string } = {},
  ): Promise<readonly JobView[]> {
    const { limit = 1_000, after, includeDisabled } = options;
    const jobs = await this.#ports.store.jobs({ limit, after });
    return jobs.filter((job) => !job.system && (job.enabled || includeDisabled)).map((job) => this.view(job));
  }

  async get(id: string): Promise<JobView> {
    return this.view(await this.#job(id));
  }

  /** The slots of a job, newest first, with the current state of their deliveries. */
  async runs(id: string, page: RunsPage = {}): Promise<readonly (SlotView & { readonly n: number })[]> {
    const { store } = this.#ports;
    const limit = Math.min(MAX_RUNS, Math.max(1, Math.floor(page.limit ?? DEFAULT_RUNS)));
    const slots = await store.jobSlots(checkedJobId(id), { limit, beforeN: page.beforeN });
    return Promise.all(
      slots.map(async (slot) => {
        const found = await Promise.all((slot.end?.deliveryIds ?? []).map((delivery) => store.delivery(delivery)));
        const deliveries = found.flatMap((one) => (one ? [{ id: one.id, state: one.state, reason: one.reason }] : []));
        return { ...slot, deliveries };
      }),
    );
  }

  view(job: CronJob): JobView {
    try {
      return { ...job, ...this.#timesOf(job) };
    } catch (error) {
      // A row may be from another program. The others are still listed, and this one can be removed.
      return { ...job, when: `The schedule cannot be read: ${errorText(error)}`, nextTimes: [] };
    }
  }

  #timesOf(job: CronJob): Pick<JobView, "when" | "nextTimes"> {
    const { clock } = this.#ports;
    const planned = zoneOf(job, this.#zone()) ?? this.#zone();
    const zone = (job.schedule.kind === "cron" && job.schedule.tz) || planned;
    const from = Math.min(clock.now(), (job.state.nextRunAtMs ?? clock.now() + 1) - 1);
    const times = job.enabled ? nextRunTimes(job.schedule, from, 3, planned) : [];
    const nextTimes = times.map((atMs) => ({ atMs, text: wallTime(atMs, zone) }));
    return { when: describeSchedule(job.schedule, planned), nextTimes };
  }

  /** Whether an agent may see and change a job: the main conversation all jobs, others the jobs created in them. */
  mayTouch(job: CronJob, agent: Pick<AgentRecord, "sessionKey" | "profile" | "descriptor">): boolean {
    if (job.system) return false;
    const main = buildAgentMainSessionKey({ agentId: agent.profile, mainKey: this.#mainKey() });
    if (agent.sessionKey === main) return true;
    if (agent.descriptor.type === "cron") return agent.descriptor.id === job.id;
    return job.sessionKey === agent.sessionKey;
  }

  addOps(raw: unknown, by: JobMaker = {}, more: Partial<CronJob> = {}): ChangedJob {
    const moment = this.#moment;
    const added = addedJob(this.#ports.ids.uuid(), normalizeCronJobCreate(raw, moment), by, moment);
    const job = this.#checked({ ...added.job, ...more });
    return { job, ops: [{ op: "job.put", job, expect: 0 }] };
  }

  /** A reminder that a person typed, its time first. Undefined if the text begins with no time or has nothing else. */
  reminderOps(
    text: string,
    by: JobMaker,
  ): { readonly at: string; readonly job: CronJob; readonly ops: readonly Op[] } | undefined {
    const { now, zone } = this.#moment;
    const read = leadingTime(text, { now, zone });
    if (!read || read.rest === "") return undefined;
    const { job, ops } = this.addOps(
      {
        name: shortened(read.rest.replaceAll(/\s+/gu, " "), MAX_NAME),
        schedule: { kind: "at", atMs: read.at },
        payload: { kind: "systemEvent", text: `Remind the person now, as they asked: ${read.rest}` },
      },
      by,
    );
    return { at: wallTime(read.at, zone), job, ops };
  }

  async updateOps(id: string, raw: unknown): Promise<ChangedJob> {
    const job = await this.#job(id);
    const moment = this.#moment;
    const changed = editedJob(job, normalizeCronJobPatch(raw, job, moment), moment);
    // A job whose profile is gone can still be switched off.
    if (changed.job.enabled) this.#checked(changed.job);
    return changed;
  }

  #checked(job: CronJob): CronJob {
    const problem = this.#options.jobProblem?.(job);
    if (problem !== undefined) throw new InvalidInputError(problem, { hint: "Nothing was changed." });
    return job;
  }

  async removeOps(id: string): Promise<readonly Op[]> {
    return removedJob(await this.#job(id), this.#moment);
  }

  /** A run outside of the schedule. The schedule does not change. */
  async runOps(id: string): Promise<{ readonly job: CronJob; readonly slot: string; readonly ops: readonly Op[] }> {
    const { job, slot, message, row } = await this.#manual(id);
    return { job, slot, ops: [await this.#postOp(message, row.slot.at), row] };
  }

  async #manual(id: string) {
    const { ids, clock } = this.#ports;
    const job = await this.#job(id);
    const denial = await jobDenial(this.#ports, job);
    if (denial !== undefined) throw new DeniedError(`The job does not run: ${denial}.`);
    const now = clock.now();
    const slot = `${MANUAL_SLOT}${ids.uuid()}`;
    const firing = { slot, dueAt: now, lateMs: 0, now, zone: this.#zone(), mainKey: this.#mainKey() };
    // A manual run starts now, in every wake mode.
    const message = await jobMessage(this.#ports, { ...job, wakeMode: "now" }, firing);
    return { job, slot, message, row: { op: "job.slot", slot: firedSlot(job, now, now, slot) } as const };
  }

  /** Posts a text to the main conversation: now, or with the next heartbeat. */
  async wakeOps(
    text: string,
    mode: CronJob["wakeMode"] = defaultWakeMode(),
    by: JobMaker = {},
  ): Promise<readonly Op[]> {
    const trimmed = text.trim();
    if (trimmed === "") throw new InvalidInputError("text required");
    const now = this.#ports.clock.now();
    const job = { agentId: by.profile, sessionKey: by.sessionKey };
    const silent = mode !== "now";
    const body = { kind: "system", text: trimmed, origin: "cron:wake", silent: silent || undefined } as const;
    const to = mainAddress(job, this.#mainKey());
    return [await this.#postOp({ to, body, delivery: silent ? undefined : by.delivery, behalf: by.behalf }, now)];
  }

  /** Notes of a job's own agent for its next runs. */
  async memoryOps(id: string, memory: string): Promise<readonly Op[]> {
    const job = await this.#job(id);
    return [{ op: "job.put", job: { ...job, memory, updatedAtMs: this.#ports.clock.now() }, expect: versionOf(job) }];
  }

  /** `also` makes ops of the result, which are committed with it; likewise below. */
  async add(raw: unknown, by: JobMaker = {}, also?: (added: JobView) => readonly Op[]): Promise<JobView> {
    const { job, ops } = this.addOps(raw, { ...by, behalf: by.behalf ?? { person: OWNER } });
    const added = this.view({ ...job, version: 1 });
    await this.#commit("cron.add", [...ops, ...(also?.(added) ?? [])]);
    return added;
  }

  /** `by`: who changes it. From then on it acts for this person too. Default: the owner. */
  async update(id: string, raw: unknown, by: Behalf = { person: OWNER }): Promise<JobView> {
    await this.#commitWithRetry("cron.update", async () =>
      (await this.updateOps(id, raw)).ops.map((op) =>
        op.op === "job.put" ? { ...op, job: ofJob(op.job, by, false) } : op,
      ),
    );
    return this.get(id);
  }

  async remove(id: string): Promise<void> {
    await this.#commitWithRetry("cron.remove", () => this.removeOps(id));
  }

  /** Returns the slot, which identifies the run. */
  async run(id: string, options: RunNowOptions = {}): Promise<{ readonly slot: string }> {
    const { slot, message, row } = await this.#manual(id);
    const { also, by } = options;
    const more = [row, ...(also?.({ slot }) ?? [])];
    const made = { ...message, behalf: by ? inherited(by, message.behalf) : message.behalf };
    const posted = this.#ports.post?.({ ...made, also: more });
    if (posted) await posted;
    else await this.#commit("cron.run", [await this.#postOp(made, row.slot.at), ...more]);
    return { slot };
  }

  async wake(text: string, mode?: CronJob["wakeMode"], by?: JobMaker): Promise<void> {
    await this.#commit("cron.wake", await this.wakeOps(text, mode, by));
  }

  get #moment() {
    return { now: this.#ports.clock.now(), zone: this.#zone() };
  }

  async #job(id: string): Promise<CronJob> {
    const job = await this.#ports.store.job(checkedJobId(id));
    if (!job)
      throw new NotFoundError(`unknown cron job id: ${id}`, { hint: "`rookery schedules list` lists the jobs." });
    return job;
  }

  async #postOp({ to, body, delivery, behalf }: JobMessage, now: number): Promise<Op> {
    const message = { body, delivery, behalf, acceptedAt: now };
    return { op: "message.post", to: await this.#recipient(to, now, behalf), message };
  }

  async #recipient(to: JobMessage["to"], now: number, behalf: Behalf | undefined): Promise<Recipient> {
    if ("agentId" in to) return to;
    if ("strategy" in to) throw new InvalidInputError("A job's message needs a recipient.");
    const { descriptor, profile, sessionKey } = to;
    const seed = seedAgent(this.#ports.ids, descriptor, now, profile, sessionKey);
    return recipientOf({ ...seed, person: await this.#ports.people.personOfNew(seed, behalf) });
  }

  async #commitWithRetry(site: CommitSite, ops: () => Promise<readonly Op[]>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#commit(site, await ops());
      } catch (error) {
        if (!(error instanceof ConflictError) || tries >= TRIES) throw error;
      }
    }
  }

  async #commit(site: CommitSite, ops: readonly Op[]): Promise<void> {
    const result = await submit(this.#ports, site, ops);
    if (!result.ok) throw new ConflictError(result.detail, { hint: "It was changed at the same time. Try again." });
    this.#ports.changed?.();
  }
}

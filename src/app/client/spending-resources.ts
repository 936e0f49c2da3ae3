/** What works and spends by itself: cron jobs, subagents, swarms, budgets and usage. */

import type { SubagentRunOutcome } from "../../core/agent/subagent-run.ts";
import type { SwarmContact, SwarmRecord } from "../../core/agent/swarm.ts";
import type { List } from "../../core/list.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import type { JobSlot } from "../../core/schedule/job-slot.ts";
import type { ListedBudget, SpentSince } from "../../core/store/spent.ts";
import { checkedId } from "./checked-options.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";

/** A job, its schedule in words, and its next times. */
export interface ScheduledJob extends CronJob {
  readonly when: string;
  readonly nextTimes: readonly { readonly atMs: number; readonly text: string }[];
}

/** What a job is made of. Everything but its name, its schedule and its payload has a default. */
type NewJob = Pick<CronJob, "name" | "schedule" | "payload"> &
  Partial<
    Pick<
      CronJob,
      | ("description" | "agentId" | "enabled" | "deleteAfterRun" | "sessionTarget" | "wakeMode" | "isolation")
      | ("missed" | "maxLatenessMs" | "overlap" | "staggerMs" | "gate")
    >
  >;

export interface Schedule {
  /** By id. Send `next` as `after` for the next page. Changes nothing. */
  list(filter?: {
    readonly all?: boolean;
    readonly after?: string;
    readonly limit?: number;
  }): Promise<List<ScheduledJob, string>>;
  /** One job. Changes nothing. */
  get(job: string): Promise<ScheduledJob>;
  /** Durable when it resolves. The fields are those of `rookery schedules add`. */
  add(job: NewJob, options?: { readonly id?: string }): Promise<ScheduledJob>;
  /** Durable when it resolves. */
  update(job: string, change: Partial<NewJob>): Promise<ScheduledJob>;
  /** Durable when it resolves. */
  remove(job: string): Promise<void>;
  /** Runs a job now, outside of its schedule. Durable when it resolves. */
  run(job: string): Promise<{ readonly slot: string }>;
  /** The outcome of its due times, newest first. Changes nothing. */
  runs(job: string, page?: { readonly limit?: number; readonly before?: number }): Promise<List<JobOutcome, number>>;
  /** The heartbeat of each profile and its last ticks. Changes nothing. */
  heartbeats(options?: { readonly limit?: number }): Promise<List<Heartbeat>>;
}

/** A due time of a job, what became of it, and where its report went. */
export interface JobOutcome extends JobSlot {
  readonly n: number;
  readonly deliveries: readonly { readonly id: string; readonly state: string; readonly reason?: string }[];
}

export interface Heartbeat {
  readonly profile: string;
  readonly enabled: boolean;
  readonly every: string;
  /** Null if it is off. */
  readonly everyMs: number | null;
  readonly prompt: string;
  readonly target: string;
  readonly model?: string;
  /** How much an answer may say beside the acknowledgement and still be left out. */
  readonly ackMaxChars: number;
  readonly nextDueMs?: number;
  readonly lastRunMs?: number;
  readonly ticks: readonly JobSlot[];
}

export const scheduleOf = (api: EngineApi): Schedule => ({
  list: (filter) => api.get("/api/cron", { ...filter }),
  get: (job) => api.get(pathOf("api", "cron", job)),
  add: async (job, options) => api.post("/api/cron", job, checkedId(options)),
  update: (job, change) => api.patch(pathOf("api", "cron", job), change),
  async remove(job) {
    await api.delete(pathOf("api", "cron", job));
  },
  run: (job) => api.post(pathOf("api", "cron", job, "run")),
  runs: (job, page) => api.get(pathOf("api", "cron", job, "runs"), { ...page }),
  heartbeats: (options) => api.get("/api/heartbeat", { ...options }),
});

export interface SpawnOptions {
  /** The same id again is the same subagent. */
  readonly id?: string;
  readonly label?: string;
  /** The profile it speaks as. Default: that of its parent. */
  readonly agentId?: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly runTimeoutSeconds?: number;
  readonly cleanup?: "delete" | "keep";
}

export interface Spawned {
  readonly runId: string;
  readonly childSessionKey: string;
  readonly warning?: string;
  /** Waits for its end, a minute or `timeoutMs`. A timeout is a normal answer. Changes nothing. */
  wait(options?: { readonly timeoutMs?: number }): Promise<SpawnedEnd>;
}

type SpawnedEnd =
  | { readonly status: "ended"; readonly outcome: SubagentRunOutcome }
  | { readonly status: "timeout" | "unknown" };

export async function spawn(
  api: EngineApi,
  parent: string,
  task: string,
  { id, ...body }: SpawnOptions = {},
): Promise<Spawned> {
  const started = await api.post<Spawned>(pathOf("api", "agents", parent, "spawn"), { task, ...body }, { id });
  const { runId, childSessionKey, warning } = started;
  const wait: Spawned["wait"] = (options) => api.get(pathOf("api", "subagents", runId, "wait"), { ...options });
  return { runId, childSessionKey, warning, wait };
}

export interface Swarms {
  /** By name. Send `next` as `after` for the next page. Changes nothing. */
  list(page?: { readonly after?: string; readonly limit?: number }): Promise<List<SwarmRecord, string>>;
  /** A swarm and its contacts. Changes nothing. */
  get(nametag: string): Promise<{ readonly swarm: SwarmRecord; readonly contacts: readonly SwarmContact[] }>;
  /** Publishes a swarm under a name; each contact gets an agent of its own behind it. Durable when it resolves. */
  create(swarm: NewSwarm, options?: { readonly id?: string }): Promise<SwarmRecord>;
  /** Frees its name; its agents are removed when they are idle. Durable when it resolves. */
  remove(nametag: string): Promise<void>;
}

/** `systemPrompt` is that of its agents; `memory`: whether they see what the profile remembers. */
interface NewSwarm extends Pick<SwarmRecord, "nametag" | "firstName" | "lastName" | "bio" | "about" | "systemPrompt"> {
  readonly memory?: boolean;
}

export const swarmsOf = (api: EngineApi): Swarms => ({
  list: (page) => api.get("/api/swarms", { ...page }),
  get: (nametag) => api.get(pathOf("api", "swarms", nametag)),
  create: async (swarm, options) => api.post("/api/swarms", swarm, checkedId(options)),
  async remove(nametag) {
    await api.delete(pathOf("api", "swarms", nametag));
  },
});

/** A budget, what is spent of it, and what it allows. Money is in millionths of a dollar. */
/** `name`: the key, with the name of an agent instead of its id. `lift` takes it too. */
export type BudgetView = ListedBudget & { readonly name: string };

export interface Budgets {
  /** Every budget, with what is spent of it. Changes nothing. */
  list(): Promise<List<BudgetView>>;
  /** Raises a budget by its own size, or by what is given. Durable when it resolves. */
  lift(key: string, more?: { readonly tokens?: number; readonly dollars?: number }): Promise<BudgetView>;
}

export const budgetsOf = (api: EngineApi): Budgets => ({
  list: () => api.get("/api/budgets"),
  lift: (key, more = {}) => api.post(pathOf("api", "budgets", key, "lift"), more),
});

/** What runs have used since a time: in total, and by agent, tree and person. */
export interface Usage extends SpentSince {
  readonly since: number;
}

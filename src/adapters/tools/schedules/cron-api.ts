/** The services behind the schedule tools. Every change is a list of ops that is committed with the tool's result (M12). */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { JobSlot } from "../../../core/schedule/job-slot.ts";
import type { Op } from "../../../core/store/change.ts";

/** A job with its times in readable form. */
export interface ShownJob extends CronJob {
  readonly when: string;
  readonly nextTimes: readonly { readonly atMs: number; readonly text: string }[];
}

/** Where a job was created: its "main" session is that conversation. */
export interface JobMaker {
  readonly profile?: string;
  readonly sessionKey?: string;
  readonly delivery?: DeliveryContext;
}

export interface CronApi {
  list(options?: { readonly includeDisabled?: boolean; readonly limit?: number }): Promise<readonly ShownJob[]>;
  get(id: string): Promise<ShownJob>;
  runs(id: string, page?: { readonly limit?: number }): Promise<readonly JobSlot[]>;
  view(job: CronJob): ShownJob;
  mayTouch(job: CronJob, agent: AgentRecord): boolean;
  addOps(raw: unknown, by?: JobMaker): { readonly job: CronJob; readonly ops: readonly Op[] };
  updateOps(id: string, raw: unknown): Promise<{ readonly job: CronJob; readonly ops: readonly Op[] }>;
  removeOps(id: string): Promise<readonly Op[]>;
  runOps(id: string): Promise<{ readonly job: CronJob; readonly slot: string; readonly ops: readonly Op[] }>;
  wakeOps(text: string, mode?: CronJob["wakeMode"], by?: JobMaker): Promise<readonly Op[]>;
  memoryOps(id: string, memory: string): Promise<readonly Op[]>;
}

/** A task of the heartbeat. `file`: set if the task is a file. */
interface ShownTask {
  readonly id: string;
  readonly title: string;
  readonly prompt: string;
  readonly file?: string;
}

export interface HeartbeatApi {
  readonly tasks: {
    list(profile: string): Promise<readonly ShownTask[]>;
    addOps(
      profile: string,
      task: { readonly id?: string; readonly title: string; readonly prompt: string },
    ): Promise<{ readonly id: string; readonly ops: readonly Op[] }>;
    removeOps(profile: string, id: string): Promise<readonly Op[]>;
  };
  /** Requests a tick soon. */
  requestNow(reason?: string, profile?: string): void;
}

/**
 * The durable job behind a profile's heartbeat. Its ticks are slots of an ordinary job: a restart does not change their
 * rhythm, and each tick leaves a record (L9).
 */

import type { Ports } from "../../../core/ports/ports.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { Op } from "../../../core/store/change.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import { submit } from "../../commit/submit.ts";
import { addedJob, editedJob } from "../cron/job-changes.ts";
import { type HeartbeatSections, heartbeatProfiles, resolveHeartbeatSummary } from "./heartbeat-config.ts";

type JobPorts = Pick<Ports, "clock" | "ids" | "store" | "log">;

const ID_PREFIX = "heartbeat:";

export const heartbeatJobId = (profile: string): string => `${ID_PREFIX}${profile}`;

/** Makes the jobs match the configuration. An unchanged interval keeps its next due time. */
export async function syncHeartbeatJobs(ports: JobPorts, config: HeartbeatSections): Promise<void> {
  const profiles = new Set(heartbeatProfiles(config));
  for (const profile of profiles) await syncProfile(ports, config, profile);
  // Ids are sorted by their bytes, so these follow the prefix itself.
  for (const job of await ports.store.jobs({ limit: 1_000, after: ID_PREFIX })) {
    if (!job.id.startsWith(ID_PREFIX)) break;
    const isRemoved = job.system === "heartbeat" && job.enabled && !profiles.has(job.agentId ?? "");
    if (isRemoved) await edit(ports, job, { enabled: false });
  }
}

async function syncProfile(ports: JobPorts, config: HeartbeatSections, profile: string): Promise<void> {
  const { enabled, everyMs } = resolveHeartbeatSummary(config, profile);
  const job = await ports.store.job(heartbeatJobId(profile));
  if (!job) {
    if (everyMs !== null) await add(ports, profile, everyMs);
    return;
  }
  const sameInterval = job.schedule.kind === "every" && job.schedule.everyMs === everyMs;
  if (job.enabled === enabled && (everyMs === null || sameInterval)) return;
  // A job that was turned off after failures stays off until a person turns it on or changes the interval.
  if (enabled && sameInterval && job.state.disabledReason !== undefined) return;
  await edit(ports, job, everyMs === null ? { enabled } : { enabled, schedule: { kind: "every", everyMs } });
}

async function add(ports: JobPorts, profile: string, everyMs: number): Promise<void> {
  const create = {
    name: `heartbeat of ${profile}`,
    schedule: { kind: "every", everyMs },
    payload: { kind: "systemEvent", text: "heartbeat" },
    wakeMode: "now",
  } as const;
  const { job: added } = addedJob(heartbeatJobId(profile), create, { profile }, { now: ports.clock.now() });
  const job: CronJob = { ...added, system: "heartbeat", missed: "once" };
  await commitHeartbeat(ports, "heartbeat.add", [{ op: "job.put", job, expect: 0 }]);
}

async function edit(ports: JobPorts, job: CronJob, patch: Parameters<typeof editedJob>[1]): Promise<void> {
  const { ops } = editedJob(job, patch, { now: ports.clock.now() });
  await commitHeartbeat(ports, "heartbeat.edit", ops);
}

/** A refusal is fine: another node with the same configuration was first. */
export async function commitHeartbeat(ports: JobPorts, site: CommitSite, ops: readonly Op[]): Promise<void> {
  const result = await submit(ports, site, ops);
  if (!result.ok) ports.log.info("another node has changed the heartbeat's job", { detail: result.detail });
}

/**
 * Brings jobs in step with the task files of a workspace: a new file is a new job, a changed one is an edit (which closes
 * what is due, M22), a file that is gone removes its job. A file that says the same changes nothing.
 */

import { errorText, RookeryError } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { type CronJob, versionOf } from "../../../core/schedule/job.ts";
import type { Op } from "../../../core/store/change.ts";
import { submit } from "../../commit/submit.ts";
import { addedJob, editedJob, removedJob } from "../cron/job-changes.ts";
import { normalizeCronJobCreate } from "../cron/normalize-job.ts";
import { readCronTask } from "./task-file.ts";

export interface TaskFile {
  /** As people know it, such as `cron/<slug>/TASK.md`. */
  readonly path: string;
  readonly text: string;
}

export interface SyncPorts extends Pick<Ports, "store" | "ids" | "clock" | "log"> {
  readonly zone?: string;
  /** A file that is not here may be on another machine: its job stays. */
  readonly keepsMissing?: boolean;
}

/** `profile`: whose workspace it is. Gives the files that are no tasks, each with the reason. */
export async function syncTaskFiles(
  ports: SyncPorts,
  profile: string,
  files: readonly TaskFile[],
): Promise<readonly { readonly path: string; readonly reason: string }[]> {
  const problems: { path: string; reason: string }[] = [];
  const seen = new Set<string>();
  const kept = new Set<string>();
  for (const file of files) {
    kept.add(file.path);
    try {
      const { taskId, create, targetAgentId, hash } = readCronTask(file.text);
      if (seen.has(taskId)) throw new RefusedFile(`Another file has the taskId ${taskId}.`);
      seen.add(taskId);
      const more = { file: file.path, fileHash: hash, ...(targetAgentId === undefined ? {} : { targetAgentId }) };
      await syncOne(ports, profile, taskId, create, more);
    } catch (error) {
      if (!(error instanceof RookeryError) || error.retryable) throw error;
      problems.push({ path: file.path, reason: errorText(error) });
    }
  }
  if (ports.keepsMissing) return problems;
  // Only those of this workspace, and not of a file that cannot be read at the moment.
  for (const job of await ports.store.jobs()) {
    if (!job.file || (job.agentId ?? "") !== profile || seen.has(job.id) || kept.has(job.file)) continue;
    await commit(ports, "task.gone", removedJob(job, momentOf(ports)));
  }
  return problems;
}

class RefusedFile extends RookeryError {
  readonly code = "invalid_input";
  readonly retryable = false;
}

async function syncOne(
  ports: SyncPorts,
  profile: string,
  taskId: string,
  create: Readonly<Record<string, unknown>>,
  more: Pick<CronJob, "file" | "targetAgentId"> & { readonly fileHash: string },
): Promise<void> {
  const before = await ports.store.job(taskId);
  if (before?.fileHash === more.fileHash) return;
  if (before && before.file === undefined) throw new RefusedFile(`There is a job ${taskId} that is no file.`);
  const normal = normalizeCronJobCreate(create);
  if (!before) {
    const { job } = addedJob(taskId, normal, { profile }, momentOf(ports));
    return commit(ports, "task.new", [{ op: "job.put", job: { ...job, ...more }, expect: 0 }]);
  }
  const { job, ops } = editedJob(before, { enabled: true, ...normal }, momentOf(ports));
  const put = { op: "job.put", job: { ...job, ...more }, expect: versionOf(before) } as const;
  await commit(ports, "task.edit", [...ops.filter(({ op }) => op !== "job.put"), put]);
}

const momentOf = ({ clock, zone }: SyncPorts) => ({ now: clock.now(), ...(zone === undefined ? {} : { zone }) });

/** Refused where something else happened at the same time: the next look finds what is still to be done. */
async function commit(ports: SyncPorts, site: string, ops: readonly Op[]): Promise<void> {
  const result = await submit(ports, site, ops);
  if (!result.ok) ports.log.info("a task's file will be looked at again", { detail: result.detail });
}

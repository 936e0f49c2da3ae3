/**
 * Makes the jobs match the task files of a workspace: a new file adds a job, a changed file edits it and closes its due
 * times (M22), a removed file removes it. An unchanged file changes nothing.
 */

import { errorText, RookeryError } from "../../../core/errors.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { OWNER } from "../../../core/people/person.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import { type CronJob, defaultWakeMode } from "../../../core/schedule/job.ts";
import { versionOf } from "../../../core/schedule/job-times.ts";
import type { Op } from "../../../core/store/change.ts";
import type { CommitSite } from "../../../core/store/commit-sites.ts";
import { submit } from "../../commit/submit.ts";
import { addedJob, editedJob, removedJob } from "../cron/job-changes.ts";
import { normalizeCronJobCreate } from "../cron/normalize-job.ts";
import { readCronTask } from "./task-file.ts";

export interface TaskFile {
  /** Relative to the workspace, such as `cron/<slug>/TASK.md`. */
  readonly path: string;
  readonly text: string;
  /** It was written with untrusted text in context: so are its runs (M32). */
  readonly untrusted?: boolean;
}

interface SyncPorts extends Pick<Ports, "store" | "ids" | "clock" | "log"> {
  readonly zone?: string;
  /** A missing file may be on another machine: its job stays. */
  readonly keepsMissing?: boolean;
}

/** `profile`: the workspace's profile. Returns the invalid files, each with the reason. */
export async function syncTaskFiles(
  ports: SyncPorts,
  profile: string,
  files: readonly TaskFile[],
): Promise<readonly { readonly path: string; readonly reason: string }[]> {
  const problems: { path: string; reason: string }[] = [];
  const seen = new Set<string>();
  const invalid = new Set<string>();
  for (const file of files) {
    try {
      const { taskId, create, targetAgentId, hash } = readCronTask(file.text);
      if (seen.has(taskId)) throw new RefusedFile(`Another file has the taskId ${taskId}.`);
      seen.add(taskId);
      // A task file is the owner's. A changed file has its own mark.
      const behalf: Behalf = { person: OWNER, untrusted: file.untrusted ? true : undefined };
      const more = { file: file.path, fileHash: hash, targetAgentId, behalf };
      await syncOne(ports, profile, taskId, create, more);
    } catch (error) {
      if (!(error instanceof RookeryError) || error.retryable) throw error;
      invalid.add(file.path);
      problems.push({ path: file.path, reason: errorText(error) });
    }
  }
  if (ports.keepsMissing) return problems;
  // Only jobs of this workspace, and not those of a file that is invalid at the moment. A file with another taskId than
  // before has a new job, so its old one goes.
  for (const job of await ports.store.jobs()) {
    if (!job.file || (job.agentId ?? "") !== profile || seen.has(job.id) || invalid.has(job.file)) continue;
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
  more: Pick<CronJob, "file" | "fileHash" | "targetAgentId" | "behalf">,
): Promise<void> {
  const before = await ports.store.job(taskId);
  if (before?.fileHash === more.fileHash) return;
  if (before && before.file === undefined)
    throw new RefusedFile(`Another job has the id ${taskId}, and it is not a file.`);
  const normal = normalizeCronJobCreate(create);
  if (!before) {
    const { job } = addedJob(taskId, normal, { profile, behalf: { person: OWNER } }, momentOf(ports));
    return commit(ports, "task.new", [{ op: "job.put", job: { ...job, ...more }, expect: 0 }]);
  }
  const { job, ops } = editedJob(
    before,
    { ...UNSET, wakeMode: defaultWakeMode(normal.payload), enabled: true, ...normal },
    momentOf(ports),
  );
  const put = { op: "job.put", job: { ...job, ...more }, expect: versionOf(before) } as const;
  await commit(ports, "task.edit", [...ops.filter(({ op }) => op !== "job.put"), put]);
}

/** The options a file may have, as they are without it: an option that the file no longer names is reset. */
const UNSET = {
  description: undefined,
  deleteAfterRun: undefined,
  isolation: undefined,
  missed: undefined,
  maxLatenessMs: undefined,
  overlap: undefined,
  staggerMs: undefined,
  gate: undefined,
} as const;

const momentOf = ({ clock, zone }: SyncPorts) => ({ now: clock.now(), zone });

/** Refused if the job changed at the same time. The next sync tries again. */
async function commit(ports: SyncPorts, site: CommitSite, ops: readonly Op[]): Promise<void> {
  const result = await submit(ports, site, ops);
  if (!result.ok) ports.log.info("cannot sync a task file now, trying again later", { detail: result.detail });
}

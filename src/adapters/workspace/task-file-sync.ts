/** Keeps jobs in step with the task files of all workspaces: reads them at the start and again when they change. */
import { errorText } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { syncTaskFiles } from "../../engine/triggers/files/sync-task-files.ts";
import type { FileMarks } from "../tools/files/file-marks.ts";
import type { TrustedFiles } from "../tools/files/prompt-guard.ts";
import { cronTaskFiles, watchTaskFiles } from "./task-files.ts";

interface TaskFileSyncOptions {
  profiles(): readonly string[];
  workspaceOf(profile: string): string;
  timeZone(): string;
  /** The files that carry the mark of untrusted text. Default: none. */
  readonly marks?: FileMarks;
  /** What the files count as. Default: what the disk has. */
  readonly guard?: TrustedFiles;
  /** Other nodes use the same store: a file that is missing here may exist on another machine, so its job stays. */
  readonly shared: boolean;
  /** Called after each sync: jobs may have changed. */
  onSynced(): void;
}

interface TaskFileSync {
  /** Reads all files once. */
  sync(): Promise<void>;
  /** Reads all files, then follows their changes. Again: for workspaces that have changed. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function taskFileSync(
  ports: Pick<Ports, "clock" | "ids" | "store" | "log">,
  { profiles, workspaceOf, timeZone, shared, onSynced, marks, guard }: TaskFileSyncOptions,
): TaskFileSync {
  const { clock, log } = ports;
  const reported = new Set<string>();
  let stopWatching = (): void => {};
  let syncing: Promise<void> | undefined;

  /** Two profiles may share a workspace. Its files then belong to the first. */
  async function syncAll(): Promise<void> {
    const seen = new Set<string>();
    for (const profile of profiles()) {
      const workspace = workspaceOf(profile);
      if (seen.has(workspace)) continue;
      seen.add(workspace);
      const sync = {
        ...ports,
        keepsMissing: shared,
        // Read late: without files no zone is needed, and the first use of zones loads their tables.
        get zone() {
          return timeZone();
        },
      };
      const problems = await syncTaskFiles(sync, profile, await cronTaskFiles(workspace, marks, guard));
      for (const { path, reason } of problems) report(path, reason);
    }
  }

  /** Logs each problem once, not with every sync. */
  function report(path: string, reason: string): void {
    const key = `${path} ${reason}`;
    if (!reported.has(key)) log.warn("ignored a task file that cannot be used", { file: path, reason });
    reported.add(key);
  }

  function sync(): Promise<void> {
    syncing ??= syncAll()
      .then(onSynced)
      .catch((error) => log.warn("could not read the task files; will retry", { error: errorText(error) }))
      .finally(() => {
        syncing = undefined;
      });
    return syncing;
  }

  return {
    sync,
    async start() {
      stopWatching();
      await sync();
      stopWatching = watchTaskFiles([...new Set(profiles().map(workspaceOf))], clock, () => void sync());
    },
    async stop() {
      stopWatching();
      await syncing;
    },
  };
}

/** Reads the task files of workspaces and watches them for changes. Regular files only, never through a link. */
import { constants, type FSWatcher, watch } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import type { TaskFile } from "../../engine/triggers/files/sync-task-files.ts";
import { readHeartbeatTask } from "../../engine/triggers/files/task-file.ts";
import type { HeartbeatTask } from "../../engine/triggers/heartbeat/heartbeat-tasks.ts";
import { makeDirectory } from "../system/make-directory.ts";
import { type FileMarks, noMarks } from "../tools/files/file-marks.ts";
import { noGuard, type TrustedFiles } from "../tools/files/prompt-guard.ts";
import { isMarkedFile } from "./marked-file.ts";

const MAX_BYTES = 256 * 1024;
const SLUG = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/u;
const CRON_DIR = "cron";
const HEARTBEAT_DIR = "heartbeat";

/** The text of a regular file. Undefined for anything else. */
async function readPlain(path: string, guard: TrustedFiles): Promise<string | undefined> {
  const trusted = guard.of(path);
  if (trusted.is === "absent") return undefined;
  if (trusted.is === "text") return trusted.bytes.length > MAX_BYTES ? undefined : trusted.bytes.toString("utf8");
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > MAX_BYTES) return undefined;
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/** The names in a directory. Empty if it is missing or a link. */
async function names(directory: string, guard: TrustedFiles): Promise<readonly string[]> {
  try {
    const trusted = guard.names(directory);
    if (!trusted && !(await lstat(directory)).isDirectory()) return [];
    return (trusted ?? (await readdir(directory))).filter((name) => SLUG.test(name)).toSorted();
  } catch {
    return [];
  }
}

export async function cronTaskFiles(
  workspace: string,
  marks: FileMarks = noMarks,
  guard: TrustedFiles = noGuard,
): Promise<readonly TaskFile[]> {
  const slugs = await names(join(workspace, CRON_DIR), guard);
  const files = await Promise.all(
    slugs.map(async (slug) => ({
      path: `${CRON_DIR}/${slug}/TASK.md`,
      text: (await names(join(workspace, CRON_DIR, slug), guard)).includes("TASK.md")
        ? await readPlain(join(workspace, CRON_DIR, slug, "TASK.md"), guard)
        : undefined,
    })),
  );
  return files
    .filter((file): file is TaskFile => file.text !== undefined)
    .map((file) => (isMarkedFile(marks, workspace, file.path, file.text) ? { ...file, untrusted: true } : file));
}

export async function heartbeatTaskFiles(
  workspace: string,
  log: Log,
  marks: FileMarks = noMarks,
  guard: TrustedFiles = noGuard,
): Promise<readonly HeartbeatTask[]> {
  const found = await names(join(workspace, HEARTBEAT_DIR), guard);
  const tasks = await Promise.all(
    found.map(async (name) => {
      const text = name.endsWith(".md") ? await readPlain(join(workspace, HEARTBEAT_DIR, name), guard) : undefined;
      try {
        if (text === undefined) return undefined;
        const task = readHeartbeatTask(name.slice(0, -3), text);
        const untrusted = isMarkedFile(marks, workspace, join(HEARTBEAT_DIR, name), text);
        return task && untrusted ? { ...task, untrusted } : task;
      } catch (error) {
        log.warn("skipped a heartbeat task that cannot be read", { file: name, error: errorText(error) });
        return undefined;
      }
    }),
  );
  return tasks.filter((task) => task !== undefined);
}

export const readHeartbeatFile = (workspace: string, guard: TrustedFiles = noGuard): Promise<string | undefined> =>
  readPlain(join(workspace, "HEARTBEAT.md"), guard);

/** Also polled, for changes that the system does not report: network drives, directories that are created later. */
const POLL_MS = 60_000;
const SETTLE_MS = 300;

/** Calls `changed` after a file below `cron/` of a workspace changed. Returns a function that stops. */
export function watchTaskFiles(workspaces: readonly string[], clock: Clock, changed: () => void): () => void {
  let cancel = (): void => {};
  let stopped = false;
  const soon = (ms: number): void => {
    cancel();
    if (!stopped)
      cancel = clock.after(ms, () => {
        changed();
        soon(POLL_MS);
      });
  };
  const watchers = workspaces.flatMap((workspace): FSWatcher[] => {
    try {
      const directory = join(workspace, CRON_DIR);
      makeDirectory(directory);
      const watcher = watch(directory, { recursive: true, persistent: false }, () => soon(SETTLE_MS));
      watcher.on("error", () => watcher.close());
      return [watcher];
    } catch {
      return [];
    }
  });
  soon(POLL_MS);
  return () => {
    stopped = true;
    cancel();
    for (const watcher of watchers) watcher.close();
  };
}

/**
 * Cron jobs as plain files. `jobs.json` holds them all; if there are many, a log beside it holds later changes, so that one
 * job that fires does not rewrite a hundred thousand. `jobs.json` names its log. A new pair is written before the old log
 * is reused, so that a crash anywhere leaves two files that belong together.
 */
import { JOBS_FILE, jsonText } from "./file-format.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import type { MirrorSource } from "./mirror-source.ts";

const DIR = "cron";
const LOGS = ["jobs-a.jsonl", "jobs-b.jsonl"] as const;
/** Up to this many, all are written each time: the file is small, and complete to read. */
const FEW = 200;
/** The log is folded into `jobs.json` when it is as long as that file, and at least this long. */
const MIN_FOLD = 1024 * 1024;

export interface JobsMirror {
  all(): void;
  /** Writes all, and removes the log that is not in use: nothing of earlier jobs stays. */
  rewrite(): void;
  changed(ids: readonly string[]): void;
}

export function jobsMirror(source: MirrorSource, files: MirrorFiles, wrote: (path: string) => void): JobsMirror {
  function all(): void {
    const jobs = source.jobs();
    const [one, other] = LOGS;
    const next = logOf(files) === one ? other : one;
    const many = jobs.length > FEW;
    const text = many ? `${JSON.stringify({ version: 1, log: next, jobs })}\n` : jsonText({ version: 1, jobs });
    if (!many && files.read(JOBS_FILE)?.toString() === text) return;
    files.makeDir(DIR);
    if (many) {
      files.replace(`${DIR}/${next}`, "");
      wrote(`${DIR}/${next}`);
    }
    files.replace(JOBS_FILE, text);
    for (const path of [".", DIR, JOBS_FILE]) wrote(path);
  }

  return {
    all,
    rewrite() {
      all();
      const log = logOf(files);
      for (const name of LOGS) {
        if (name === log || files.size(`${DIR}/${name}`) === undefined) continue;
        files.remove(`${DIR}/${name}`);
        wrote(DIR);
      }
    },
    changed(ids) {
      const log = logOf(files);
      if (log === undefined) return all();
      const path = `${DIR}/${log}`;
      if ((files.size(path) ?? 0) > Math.max(MIN_FOLD, files.size(JOBS_FILE) ?? 0)) return all();
      // A line that a crash tore stays as a line of its own, which readers skip.
      files.append(path, ids.map((id) => `\n${JSON.stringify({ id, job: source.job(id) ?? null })}`).join(""));
      wrote(path);
    },
  };
}

/** The log that the file of all jobs names, read from its beginning. */
function logOf(files: Pick<MirrorFiles, "size" | "readAt">): string | undefined {
  if (files.size(JOBS_FILE) === undefined) return undefined;
  const found = /^\{"version":1,"log":"([^"]+)"/u.exec(files.readAt(JOBS_FILE, 0, 80).toString())?.[1];
  return LOGS.find((name) => name === found);
}

/** The jobs of the file and its log together. */
export function jobsIn(files: Pick<MirrorFiles, "read">, file: object): readonly unknown[] {
  const { jobs, log } = file as { jobs?: unknown; log?: unknown };
  const known = new Map<string, unknown>();
  for (const [index, job] of (Array.isArray(jobs) ? jobs : []).entries()) {
    known.set((job as { id?: string } | null)?.id ?? `#${index}`, job);
  }
  const name = LOGS.find((one) => one === log);
  for (const line of (name ? (files.read(`${DIR}/${name}`)?.toString() ?? "") : "").split("\n")) {
    const change = readLine(line);
    if (!change) continue;
    if (change.job === null) known.delete(change.id);
    else known.set(change.id, change.job);
  }
  return [...known.values()];
}

function readLine(line: string): { id: string; job: unknown } | undefined {
  if (line.trim() === "") return undefined;
  try {
    const { id, job } = JSON.parse(line) as { id?: unknown; job?: unknown };
    return typeof id === "string" && job !== undefined ? { id, job } : undefined;
  } catch {
    return undefined;
  }
}

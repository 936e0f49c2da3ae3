/**
 * Cron jobs as plain files: `jobs.json` holds them all, and where there are many a log beside it holds what changed since,
 * so that one job that fires does not rewrite a hundred thousand. `jobs.json` names its log; a new one of both is written
 * before the old log is let go, so a crash anywhere leaves a pair that belongs together.
 */
import { JOBS_FILE, jsonText } from "./layout.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import type { MirrorSource } from "./mirror-source.ts";

const DIR = "cron";
const LOGS = ["jobs-a.jsonl", "jobs-b.jsonl"] as const;
/** Up to here all of them are written each time: small, and complete to look at. */
const FEW = 200;
/** The log is folded into `jobs.json` when it holds more lines than there are jobs, and at least this many. */
const SHORTEST_FOLD = 2_000;

export interface JobsMirror {
  all(): void;
  changed(ids: readonly string[]): void;
}

export function jobsMirror(source: MirrorSource, files: MirrorFiles, wrote: (path: string) => void): JobsMirror {
  let log: string | undefined;
  /** Lines of the log; not known before this process has written it anew. */
  let lines = Number.POSITIVE_INFINITY;

  function all(): void {
    const jobs = source.jobs();
    const next = LOGS.find((name) => name !== log && name !== logOf(files)) ?? LOGS[0];
    const text =
      jobs.length <= FEW ? jsonText({ version: 1, jobs }) : `${JSON.stringify({ version: 1, log: next, jobs })}\n`;
    if (files.read(JOBS_FILE)?.toString() === text) return;
    files.makeDir(DIR);
    if (jobs.length > FEW) {
      files.replace(`${DIR}/${next}`, "");
      wrote(`${DIR}/${next}`);
    }
    files.replace(JOBS_FILE, text);
    log = next;
    lines = 0;
    for (const path of [".", DIR, JOBS_FILE]) wrote(path);
  }

  return {
    all,
    changed(ids) {
      const count = source.jobCount();
      if (count <= FEW || log === undefined || lines + ids.length > Math.max(SHORTEST_FOLD, count)) return all();
      // A line that a crash tore is left behind as one that nobody can read.
      const text = ids.map((id) => `\n${JSON.stringify({ id, job: source.job(id) ?? null })}`).join("");
      files.append(`${DIR}/${log}`, text);
      lines += ids.length;
      wrote(`${DIR}/${log}`);
    },
  };
}

function logOf(files: MirrorFiles): string | undefined {
  try {
    return (JSON.parse(files.read(JOBS_FILE)?.toString() ?? "{}") as { log?: string }).log;
  } catch {
    return undefined;
  }
}

/** What the file of all jobs and its log say together. Throws where the file is no JSON. */
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

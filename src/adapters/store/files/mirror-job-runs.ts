/**
 * Results of due times as a plain file: `cron/runs.jsonl`, a line for each change of a slot's row; the last line of a slot
 * counts. When the file has grown, it is written again from the database with the newest rows only.
 */
import type { JobSlot } from "../../../core/schedule/job-slot.ts";
import { JOB_RUNS_FILE } from "./file-format.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import type { MirrorSource } from "./mirror-source.ts";

const DIR = "cron";
const KEPT = 5_000;
const FOLD_BYTES = 8 * 1024 * 1024;

export interface JobRunsMirror {
  all(): void;
  /** `names`: `job:slot`, each part encoded, as the change log has them. */
  changed(names: readonly string[]): void;
}

export function jobRunsMirror(source: MirrorSource, files: MirrorFiles, wrote: (path: string) => void): JobRunsMirror {
  function all(): void {
    const rows = source.newestSlots(KEPT);
    // A home that never had a due time has no file.
    if (rows.length === 0 && files.size(JOB_RUNS_FILE) === undefined) return;
    files.makeDir(DIR);
    files.replace(JOB_RUNS_FILE, rows.map((row) => `${row}\n`).join(""));
    for (const path of [".", DIR, JOB_RUNS_FILE]) wrote(path);
  }

  return {
    all,
    changed(names) {
      if ((files.size(JOB_RUNS_FILE) ?? 0) > FOLD_BYTES) return all();
      const rows = names.flatMap((name) => {
        const [jobId = "", slot = ""] = name.split(":").map(decodeURIComponent);
        return source.slot(jobId, slot) ?? [];
      });
      if (rows.length === 0) return;
      files.makeDir(DIR);
      // A line that a crash tore stays as a line of its own, which readers skip.
      files.append(JOB_RUNS_FILE, rows.map((row) => `\n${row}\n`).join(""));
      for (const path of [".", DIR, JOB_RUNS_FILE]) wrote(path);
    },
  };
}

/**
 * The rows of a file, each as in its last line, ordered by their time because a power loss may have changed the order. Lines
 * that cannot be parsed are skipped.
 */
export function slotsIn(text: string): readonly JobSlot[] {
  const found = new Map<string, JobSlot>();
  for (const line of text.split("\n")) {
    const slot = readSlot(line);
    if (slot) found.set(JSON.stringify([slot.jobId, slot.slot]), slot);
  }
  return [...found.values()].sort((a, b) => a.at - b.at);
}

function readSlot(line: string): JobSlot | undefined {
  if (line.trim() === "") return undefined;
  try {
    const slot = JSON.parse(line) as Partial<JobSlot> | null;
    const whole = typeof slot?.jobId === "string" && typeof slot.slot === "string" && typeof slot.at === "number";
    return whole ? (slot as JobSlot) : undefined;
  } catch {
    return undefined;
  }
}

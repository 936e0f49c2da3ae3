/** The processor time of our processes, so that a bench can tell its own load from other load. */
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

const TICKS_PER_SECOND = 100;

interface Process {
  readonly pid: number;
  readonly parent: number;
  /** Seconds used by the process and its ended children. */
  readonly seconds: number;
}

/** Seconds used by a process and all its descendants. NaN if the system does not report it. */
export function secondsOf(pid: number): number {
  const all = processes();
  if (all.length === 0) return Number.NaN;
  const family = new Set([pid]);
  for (let size = 0; size !== family.size; ) {
    size = family.size;
    for (const { pid: child, parent } of all) if (family.has(parent)) family.add(child);
  }
  return all.reduce((sum, one) => (family.has(one.pid) ? sum + one.seconds : sum), 0);
}

/** The share of all processors that these seconds make up. */
export const shareOf = (seconds: number, elapsedSeconds: number): number =>
  seconds / (elapsedSeconds * availableParallelism());

function processes(): readonly Process[] {
  let names: string[];
  try {
    names = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      const text = readFileSync(`/proc/${name}/stat`, "utf8");
      // The fields after the name, which may contain anything: state, parent, …; fields 11 to 14 are times.
      const fields = text
        .slice(text.lastIndexOf(")") + 2)
        .split(" ")
        .map(Number);
      const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + (fields[at] ?? 0), 0);
      return [{ pid: Number(name), parent: fields[1] ?? 0, seconds: ticks / TICKS_PER_SECOND }];
    } catch {
      return [];
    }
  });
}

/** The processor time and memory of our processes, so that a bench can tell its own load from other load. */
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

const TICKS_PER_SECOND = 100;

export interface ProcessorTime {
  /** Seconds, all threads. */
  readonly user: number;
  readonly system: number;
}

interface Process extends ProcessorTime {
  readonly pid: number;
  readonly parent: number;
}

/** Used by these processes and all their descendants, including those that ended. NaN if the system does not report it. */
export function processorTime(...pids: readonly number[]): ProcessorTime {
  const family = familyOf(pids);
  if (family.length === 0) return { user: Number.NaN, system: Number.NaN };
  const sum = (name: keyof ProcessorTime): number => family.reduce((all, one) => all + one[name], 0);
  return { user: sum("user"), system: sum("system") };
}

export function secondsOf(pid: number): number {
  const { user, system } = processorTime(pid);
  return user + system;
}

/** The share of all processors that these seconds make up. */
export const shareOf = (seconds: number, elapsedSeconds: number): number =>
  seconds / (elapsedSeconds * availableParallelism());

/** Megabytes of these processes and their descendants. A page that several of them share counts once in total. */
export function memoryMb(...pids: readonly number[]): number {
  return familyOf(pids).reduce((sum, { pid }) => {
    try {
      return sum + Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024;
    } catch {
      return sum;
    }
  }, 0);
}

/** These processes and all their descendants. */
export function familyOf(pids: readonly number[]): readonly Process[] {
  const all = processes();
  const family = new Set(pids);
  for (let size = 0; size !== family.size; ) {
    size = family.size;
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid);
  }
  return all.filter(({ pid }) => family.has(pid));
}

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
      const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
      return [
        {
          pid: Number(name),
          parent: fields[1] ?? 0,
          user: (user + endedUser) / TICKS_PER_SECOND,
          system: (system + endedSystem) / TICKS_PER_SECOND,
        },
      ];
    } catch {
      return [];
    }
  });
}

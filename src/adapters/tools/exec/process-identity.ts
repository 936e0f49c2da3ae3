/** Which process an id means: the machine with its boot, and the start time of the process. Ids alone are used again (M33). */
import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";

/** Processes of another machine, of an earlier boot or of another container cannot be reached from here. */
export async function thisMachine(): Promise<string> {
  try {
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    return `${boot} ${await readlink("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

/** When a process started, as the system tells it; undefined if there is no such process. */
export async function startTimeOf(pid: number): Promise<string | undefined> {
  if (process.platform !== "linux") return startTimeByPs(pid);
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

const startTimeByPs = (pid: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile("ps", ["-o", "lstart=", "-p", String(pid)], { timeout: 5_000 }, (error, stdout) =>
      resolve(error ? undefined : stdout.trim() || undefined),
    );
  });

/** The variable with the id of the process that a command belongs to. */
export const PROCESS_VARIABLE = "ROOKERY_PROCESS";

/** All processes with this id in their environment: also those that have left the group. Only on Linux. */
export async function processesOf(id: string): Promise<readonly number[]> {
  const wanted = `${PROCESS_VARIABLE}=${id}`;
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
      return environment.split("\0").includes(wanted) ? pid : undefined;
    }),
  );
  return found.filter((pid) => pid !== undefined);
}

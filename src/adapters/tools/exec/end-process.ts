/** Ends a process with its group, and with what has left the group (M33): first politely, then by force. */
import { type Clock, sleep } from "../../../core/ports/clock.ts";
import { processesOf, startTimeOf } from "./process-identity.ts";

/** How long a process may take to end by itself. */
const GRACE_MS = 2_000;
const POLL_MS = 50;
const KILL_TRIES = 40;

interface EndedProcess {
  readonly id: string;
  readonly pid: number;
  readonly startTime: string;
}

/** Returns true when none of its processes is left, false if they cannot be ended. */
export async function endProcess(clock: Clock, { id, pid, startTime }: EndedProcess): Promise<boolean> {
  const isAlive = async (): Promise<boolean> => (await startTimeOf(pid)) === startTime;
  if (await isAlive()) signal(-pid, "SIGTERM");
  const until = clock.monotonic() + GRACE_MS;
  while (clock.monotonic() < until && (await isAlive())) await sleep(clock, POLL_MS);
  if (await isAlive()) signal(-pid, "SIGKILL");
  for (let tries = 1; tries <= KILL_TRIES; tries++) {
    const left = await processesOf(id);
    if (left.length === 0) return true;
    for (const one of left) signal(one, "SIGKILL");
    await sleep(clock, POLL_MS);
  }
  return false;
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has already ended.
  }
}

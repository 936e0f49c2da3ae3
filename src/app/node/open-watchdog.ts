/**
 * Opens the watchdog of a node (M34). A note that the last process left is stored before the engine starts, so that recovery
 * counts it; its file is removed only after that commit.
 */
import { join } from "node:path";
import { readNote, removeNote } from "../../adapters/system/watchdog/note-file.ts";
import { type RunningWatchdog, startWatchdog } from "../../adapters/system/watchdog/start-watchdog.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Log } from "../../core/ports/log.ts";
import { keepWatchdogNote } from "../../engine/agents/recovery/watchdog-notes.ts";
import type { CommitPorts } from "../../engine/commit/submit.ts";
import type { NodeStore } from "./open-store.ts";

export interface WatchdogTimes {
  /** How long the event loop may stand still. 0: without a limit. */
  readonly blockedMs: number;
  /** How long a stop may take. Give a supervisor more. */
  readonly drainMs: number;
}

const WATCHDOG_TIMES: WatchdogTimes = { blockedMs: 20_000, drainMs: 30_000 };

export interface WatchdogDeps {
  readonly paths: HomePaths;
  /** For tests. Default: `WATCHDOG_TIMES`. */
  readonly times?: WatchdogTimes;
  readonly opened: NodeStore;
  readonly ports: CommitPorts;
  readonly log: Log;
}

export const watchdogFile = (home: string): string => join(home, "ended-by-watchdog.json");

/** A stop that is blocked must end within the time of a stop. */
const DRAIN_SHARE = 0.75;

/**
 * How long the event loop may stand still. On a shared store at most half a lease: the process must be dead before another
 * node takes its runs over.
 */
function longestBlock({ blockedMs, drainMs }: WatchdogTimes, leaseMs = Number.POSITIVE_INFINITY): number {
  return Math.min(blockedMs, DRAIN_SHARE * drainMs, leaseMs / 2);
}

export async function openWatchdog(
  { paths, times = WATCHDOG_TIMES, opened, ports, log }: WatchdogDeps,
  start = startWatchdog,
): Promise<RunningWatchdog> {
  const file = watchdogFile(paths.home);
  await takeOver(file, ports, log);
  const { shared } = opened;
  const module = import.meta.url.endsWith(".ts") ? "watchdog-note.ts" : "watchdog-note.js";
  return start({
    file,
    log,
    blockedMs: longestBlock(times, shared?.leaseMs),
    drainMs: times.drainMs,
    shared: shared && {
      module: new URL(`../../adapters/store/postgres/${module}`, import.meta.url).href,
      options: shared.connection,
    },
  });
}

async function takeOver(file: string, ports: CommitPorts, log: Log): Promise<void> {
  const note = readNote(file);
  if (note) {
    const { why, seconds, agentId, runId, phase = "", at } = note;
    log.error(
      why === "blocked"
        ? "the last process was ended because its event loop was blocked"
        : "the last process was ended because it did not stop in time",
      { seconds, agent: agentId, run: runId, phase },
    );
    if (agentId && runId) await keepWatchdogNote(ports, { agentId, runId, phase, at });
  }
  removeNote(file);
}

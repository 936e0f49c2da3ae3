/**
 * Starts the watchdog's thread (M34). The engine's thread beats twice a second and writes notes to shared memory; the watchdog
 * ends the process if the beats stop, or if a stop takes too long.
 */
import type { Log } from "../../../core/ports/log.ts";
import type { Watchdog } from "../../../core/ports/watchdog.ts";
import { backgroundInterval } from "../background-timers.ts";
import { startWorker } from "../thread.ts";
import { type NotedRun, WatchdogMemory } from "./watchdog-memory.ts";
import type { WatchdogData } from "./watchdog-worker.ts";

interface WatchdogOptions extends Pick<WatchdogData, "file" | "blockedMs" | "drainMs" | "shared"> {
  readonly log: Log;
}

export interface RunningWatchdog extends Watchdog {
  /** A stop has begun: it must end within `drainMs`. */
  drain(): void;
  stop(): Promise<void>;
}

const TICK_MS = 500;
/** The thread allocates almost nothing. */
const LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 };

export function startWatchdog({ log, ...options }: WatchdogOptions): RunningWatchdog {
  const memory = new WatchdogMemory();
  const tickMs = Math.min(TICK_MS, (options.blockedMs || options.drainMs) / 4);
  const data: WatchdogData = { ...options, buffer: memory.buffer, tickMs };
  const worker = startWorker(
    { module: "./watchdog-worker", from: import.meta.url },
    { workerData: data, name: "watchdog", resourceLimits: LIMITS },
  );
  worker.on("error", (error) => log.error("The watchdog's thread failed; nothing watches the event loop.", { error }));
  const beat = backgroundInterval(() => memory.beat(), tickMs / 2);
  const tools = new Set<NotedRun>();
  const showTools = (): void => memory.tools(tools.size, tools.values().next().value);
  return {
    note: ({ agentId, id }, phase) => memory.note({ agentId, runId: id, phase }),
    tool({ agentId, id }, name) {
      const running: NotedRun = { agentId, runId: id, phase: `tool ${name}` };
      memory.note(running);
      tools.add(running);
      showTools();
      return () => {
        tools.delete(running);
        showTools();
      };
    },
    drain: () => memory.drain(),
    async stop() {
      clearInterval(beat);
      memory.stop();
      await worker.terminate();
    },
  };
}

/**
 * Restarts the process in place with the limits of a long-running one: a bounded heap, few helper threads, few memory arenas,
 * and compiled code from the cache. V8 and the allocator read these settings only at the start of a process. The process
 * keeps its id, its streams and its arguments.
 */
import { getCompileCacheDir } from "node:module";
import { defined } from "../../core/defined.ts";

/** Set in the environment of the restarted process. */
const MARK = "ROOKERY_LEAN";

const FLAGS = [
  // Above this size the process exits and recovers from committed state, instead of exhausting the machine.
  "--max-old-space-size=1024",
  // The engine works in one thread; collecting and compiling need one helper.
  "--v8-pool-size=1",
  // Background compilation leaves about forty megabytes that the allocator never returns.
  "--no-concurrent-recompilation",
  // For collections at rest. Turned on later, it would make the threads that start after it compile their code again.
  "--expose-gc",
] as const;

/** Settings of the C allocator: few arenas, and freed memory returns to the system. */
const ALLOCATOR = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_TRIM_THRESHOLD_: "131072",
  MALLOC_MMAP_THRESHOLD_: "131072",
} as const;

export function restartWithLimits(): void {
  const { env, execPath, execArgv, argv } = process;
  if (env[MARK] !== undefined) {
    // The settings are for this process only, not for its children.
    for (const name of [MARK, ...Object.keys(ALLOCATOR), "NODE_COMPILE_CACHE"]) delete env[name];
    return;
  }
  // A user who sets limits has chosen them.
  if (!process.execve || execArgv.some((flag) => /old-space|pool-size|^--inspect/.test(flag))) return;
  const limits = { [MARK]: "1", ...ALLOCATOR, NODE_COMPILE_CACHE: getCompileCacheDir() };
  try {
    const newEnv = defined({ ...env, ...defined(limits) });
    process.execve(execPath, [execPath, ...FLAGS, ...execArgv, ...argv.slice(1)], newEnv);
  } catch {
    // The process continues without the limits.
  }
}

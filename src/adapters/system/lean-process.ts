/**
 * Begins the process anew with the limits a long-running one should have, because V8 and the allocator take theirs only at
 * the start: a bound on the heap, few helper threads, few arenas, and compiled code from the cache (so that the compiler of
 * types is not loaded at all). The process stays the same one: same id, same streams, same arguments.
 */
import { getCompileCacheDir } from "node:module";

/** Tells the process that was begun anew that it was. */
const MARK = "ROOKERY_LEAN";

const FLAGS = [
  // Beyond it the process ends and begins again from what is committed, instead of taking the machine down with it.
  "--max-old-space-size=1024",
  // The engine works in one thread; collecting and compiling need one helper.
  "--v8-pool-size=1",
  // Compiled in the background, code leaves some forty megabytes behind that the allocator never gives back.
  "--no-concurrent-recompilation",
] as const;

/** The allocator of the C library: few arenas, and what is freed goes back to the machine instead of being kept for later. */
const ALLOCATOR = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_TRIM_THRESHOLD_: "131072",
  MALLOC_MMAP_THRESHOLD_: "131072",
} as const;

export function asLeanProcess(): void {
  const { env, execPath, execArgv, argv } = process;
  if (env[MARK] !== undefined) {
    // Only for this process, not for what it starts.
    for (const name of [MARK, ...Object.keys(ALLOCATOR), "NODE_COMPILE_CACHE"]) delete env[name];
    return;
  }
  // Somebody who sets limits has chosen them.
  if (!process.execve || execArgv.some((flag) => /old-space|pool-size|^--inspect/.test(flag))) return;
  const cache = getCompileCacheDir();
  const kept: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) kept[name] = value;
  const lean = { [MARK]: "1", ...ALLOCATOR, ...(cache ? { NODE_COMPILE_CACHE: cache } : {}) };
  try {
    process.execve(execPath, [execPath, ...FLAGS, ...execArgv, ...argv.slice(1)], { ...kept, ...lean });
  } catch {
    // Where it is not possible the process goes on as it is.
  }
}

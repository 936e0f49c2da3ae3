/**
 * Runs a module in a thread of its own, with limits on time and memory, and returns the message it sends (L14). Its timer keeps the
 * process alive until then (M49).
 */
import { startWorker, type ThreadCode } from "./thread.ts";

interface ThreadTask extends ThreadCode {
  readonly data: unknown;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /** How much the process may grow during the work: the limit on the heap of a thread does not count buffers. Default: no limit. */
  readonly maxGrowthMb?: number;
}

const WATCH_MS = 50;
const MB = 1_048_576;

/** Rejects with `RangeError` if the thread fails or exceeds a limit. */
export async function runInThread<Result>(task: ThreadTask): Promise<Result> {
  const { data, timeoutMs, memoryMb, maxGrowthMb = Number.POSITIVE_INFINITY } = task;
  const worker = startWorker(task, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    env: {},
    stdin: false,
    stdout: true,
    stderr: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const timer = setTimeout(() => reject(new RangeError("The thread takes too long.")), timeoutMs);
  const maxBytes = process.memoryUsage.rss() + maxGrowthMb * MB;
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() > maxBytes) reject(new RangeError("The thread takes too much memory."));
  }, WATCH_MS);
  worker.once("message", resolve);
  worker.once("error", reject);
  worker.once("exit", () => reject(new RangeError("The thread ended.")));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    await worker.terminate();
  }
}

/**
 * The readable text of a web page, made in a thread of its own with limits on size, time and memory (L14). If the thread fails or
 * takes too long, the page becomes plain text: less readable, but linear. At most one page is read at a time.
 */
import { threadCode } from "../../system/thread-code.ts";
import { plainText } from "./plain-text.ts";
import type { PageText } from "./web-page-worker.ts";

export const MAX_HTML = 1_000_000;
const TIMEOUT_MS = 5_000;
const MEMORY_MB = 256;

export interface ReadPage extends PageText {
  /** The page could not be read as an article. */
  readonly isPlain: boolean;
}

let last: Promise<unknown> = Promise.resolve();

/** Must not throw. */
export function pageText(html: string, url: string, timeoutMs = TIMEOUT_MS): Promise<ReadPage> {
  const page = html.slice(0, MAX_HTML);
  const next = last
    .then(() => inThread(page, url, timeoutMs))
    .then(
      (read) => ({ ...read, isPlain: false }),
      () => ({ title: "", text: plainText(page), isPlain: true }),
    );
  last = next;
  return next;
}

async function inThread(html: string, url: string, timeoutMs: number): Promise<PageText> {
  const { Worker } = await import("node:worker_threads");
  const worker = new Worker(threadCode("./web-page-worker", import.meta.url), {
    eval: true,
    workerData: { html, url },
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    env: {},
    stdin: false,
    stdout: true,
    stderr: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<PageText>();
  const timer = setTimeout(() => reject(new RangeError("Reading the page takes too long.")), timeoutMs);
  worker.once("message", resolve);
  worker.once("error", reject);
  worker.once("exit", () => reject(new RangeError("Reading the page failed.")));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

/**
 * The readable text of a web page, made in a thread of its own with limits on size, time and memory (L14). If the thread fails or
 * takes too long, the page becomes plain text: less readable, but linear. At most one page is read at a time.
 */
import { plainText } from "./plain-text.ts";
import type { PageText } from "./web-page-worker.ts";

export const MAX_HTML = 1_000_000;
const TIMEOUT_MS = 5_000;
const MEMORY_MB = 256;

interface ReadPage extends PageText {
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
  const { runInThread } = await import("../../system/run-in-thread.ts");
  const code = { module: "./web-page-worker", from: import.meta.url };
  return runInThread({ ...code, data: { html, url }, timeoutMs, memoryMb: MEMORY_MB });
}

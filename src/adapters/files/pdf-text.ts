/**
 * The text of a PDF, read in a thread of its own with limits on time and memory: a PDF may unpack to any size, and reading it
 * may take any time (L14). At most one is read at a time.
 */
import type { ShownContent } from "../../core/ports/file-inspector.ts";
import { threadCode } from "../system/thread-code.ts";
import type { PdfText } from "./pdf-worker.ts";

export interface PdfLimits {
  readonly maxCharacters: number;
  readonly maxPages?: number;
  readonly timeoutMs?: number;
  readonly memoryMb?: number;
}

const MAX_PAGES = 500;
const TIMEOUT_MS = 10_000;
const MEMORY_MB = 256;
/** A limit on the heap of a thread does not count unpacked bytes: the growth of the process is watched too. */
const WATCH_MS = 50;

let last: Promise<unknown> = Promise.resolve();

/** Must not throw: a PDF without text, or one that cannot be read, is a reference. */
export function shownPdf(data: Uint8Array, limits: PdfLimits): Promise<ShownContent> {
  const next = last.then(() => read(data, limits)).then(shownText, unreadable);
  last = next;
  return next;
}

function shownText({ text, pages, cut }: PdfText): ShownContent {
  if (text.trim() === "") return { as: "reference", why: noText(pages), pages };
  const whole = text.toWellFormed();
  const data = new TextEncoder().encode(whole);
  const shown = { as: "text", of: "pdf", characters: whole.length, data, pages } as const;
  return cut ? { ...shown, cut: true } : shown;
}

const noText = (pages: number): string => `The PDF has ${pages === 1 ? "1 page" : `${pages} pages`} and no text.`;

const unreadable = (): ShownContent => ({
  as: "reference",
  why: "The PDF cannot be read, or reading it takes too long.",
});

async function read(data: Uint8Array, limits: PdfLimits): Promise<PdfText> {
  const { Worker } = await import("node:worker_threads");
  const { maxCharacters, maxPages = MAX_PAGES, timeoutMs = TIMEOUT_MS, memoryMb = MEMORY_MB } = limits;
  const worker = new Worker(threadCode("./pdf-worker", import.meta.url), {
    eval: true,
    // A copy: the thread takes it over.
    workerData: { data: Uint8Array.from(data), maxCharacters, maxPages },
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    env: {},
    stdin: false,
    stdout: true,
    stderr: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<PdfText>();
  const timer = setTimeout(() => reject(new RangeError("Reading the PDF takes too long.")), timeoutMs);
  const most = process.memoryUsage.rss() + 2 * memoryMb * 1_048_576;
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() > most) reject(new RangeError("Reading the PDF takes too much memory."));
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

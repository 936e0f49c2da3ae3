/**
 * The text of a PDF, read in a thread of its own with limits on time and memory: a PDF may unpack to any size, and reading it
 * may take any time (L14). At most one is read at a time.
 */
import type { ShownContent } from "../../core/ports/file-inspector.ts";
import type { PdfText } from "./pdf-worker.ts";

interface PdfLimits {
  readonly maxCharacters: number;
  readonly maxPages?: number;
  readonly timeoutMs?: number;
  readonly memoryMb?: number;
}

const MAX_PAGES = 500;
const TIMEOUT_MS = 10_000;
const MEMORY_MB = 256;

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
  const { runInThread } = await import("../system/run-in-thread.ts");
  const { maxCharacters, maxPages = MAX_PAGES, timeoutMs = TIMEOUT_MS, memoryMb = MEMORY_MB } = limits;
  return runInThread({
    ...{ module: "./pdf-worker", from: import.meta.url, timeoutMs, memoryMb },
    // A copy: the thread takes it over.
    data: { data: Uint8Array.from(data), maxCharacters, maxPages },
    // Unpacked bytes are not in the heap.
    maxGrowthMb: 2 * memoryMb,
  });
}

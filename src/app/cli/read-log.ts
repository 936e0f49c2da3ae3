/**
 * Reads the log file of a home: its lines so far, and then each new one. Only whole lines count, by bytes, so a line is neither cut nor
 * left out; after the file was rotated, what is left in the old one comes first.
 */
import { existsSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

export interface LogLine {
  readonly at?: number | string;
  readonly level?: string;
  readonly message?: string;
  readonly [field: string]: unknown;
}

const CHUNK = 1 << 20;
/** A longer line is left out. */
const MAX_LINE = 4 << 20;
const POLL_MS = 250;

/** Reads whole lines of an open file, from where it stopped the last time. */
class LogReader {
  readonly #handle: FileHandle;
  #at = 0;
  #rest = Buffer.alloc(0);

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async *lines(): AsyncGenerator<LogLine> {
    for (;;) {
      const { buffer, bytesRead } = await this.#handle.read(Buffer.alloc(CHUNK), 0, CHUNK, this.#at);
      if (bytesRead === 0) return;
      this.#at += bytesRead;
      const bytes = Buffer.concat([this.#rest, buffer.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(0x0a) + 1;
      this.#rest = bytes.length - end > MAX_LINE ? Buffer.alloc(0) : bytes.subarray(end);
      for (const text of bytes.toString("utf8", 0, end).split("\n")) {
        const line = parsed(text);
        if (line) yield line;
      }
    }
  }

  /** Whether the path leads to another file now, or to this one cut short. */
  async isReplaced(path: string): Promise<boolean> {
    const [mine, there] = await Promise.all([this.#handle.stat(), stat(path).catch(() => undefined)]);
    return there !== undefined && (there.ino !== mine.ino || there.size < this.#at);
  }

  async is(path: string): Promise<boolean> {
    return (await stat(path)).ino === (await this.#handle.stat()).ino;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function parsed(text: string): LogLine | undefined {
  if (text === "") return undefined;
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return undefined;
  }
}

interface Wanted {
  readonly limit: number;
  wants(line: LogLine): boolean;
}

/** The latest lines of the file and of the rotated one before it. With `onLine` it goes on with each new one until the signal. */
export async function readLog(
  file: string,
  { limit, wants }: Wanted,
  following?: { readonly signal: AbortSignal; onLine(line: LogLine): void },
): Promise<readonly LogLine[]> {
  let latest: LogLine[] = [];
  const keep = async (reader: LogReader): Promise<void> => {
    for await (const line of reader.lines()) {
      if (!wants(line)) continue;
      latest.push(line);
      if (latest.length > 2 * limit) latest = latest.slice(-limit);
    }
  };
  // Opened first: if the file is rotated meanwhile, it is the older one, and is not read twice.
  let reader = existsSync(file) ? new LogReader(await open(file, "r")) : undefined;
  try {
    if (existsSync(`${file}.1`) && !(await reader?.is(`${file}.1`))) {
      const before = new LogReader(await open(`${file}.1`, "r"));
      await keep(before).finally(() => before.close());
    }
    if (reader) await keep(reader);
    latest = latest.slice(-limit);
    if (!following) return latest;
    const { signal, onLine } = following;
    for (const line of latest) onLine(line);
    while (!signal.aborted) {
      const isReplaced = await reader?.isReplaced(file);
      for await (const line of reader?.lines() ?? []) if (wants(line)) onLine(line);
      if (isReplaced || (!reader && existsSync(file))) {
        await reader?.close();
        reader = undefined;
        reader = new LogReader(await open(file, "r"));
      } else await pause(signal);
    }
    return latest;
  } finally {
    await reader?.close();
  }
}

const pause = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, POLL_MS);
    signal.addEventListener("abort", end);
  });

/** Reads a file of lines in portions, from either end, so that a long history is never in memory as a whole. */
import type { MirrorFiles } from "./mirror-files.ts";

const NEWLINE = 0x0a;
const PORTION = 1 << 20;

export interface FileLine {
  readonly text: string;
  /** Where the line begins, in bytes. */
  readonly offset: number;
  /** Whether it has a line end. Only the last line may lack it. */
  readonly complete: boolean;
}

/** The lines from the offset `from`, at which a line begins, up to the offset `to`. */
export function* fileLines(
  files: MirrorFiles,
  path: string,
  from = 0,
  to = files.size(path) ?? 0,
): Generator<FileLine> {
  let rest: Buffer = Buffer.alloc(0);
  let start = from;
  for (let at = from; at < to; at += PORTION) {
    const portion = files.readAt(path, at, Math.min(PORTION, to - at));
    rest = rest.length === 0 ? portion : Buffer.concat([rest, portion]);
    let next = 0;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, next)) {
      yield { text: rest.toString("utf8", next, end), offset: start + next, complete: true };
      next = end + 1;
    }
    rest = rest.subarray(next);
    start += next;
  }
  if (rest.length > 0) yield { text: rest.toString("utf8"), offset: start, complete: false };
}

/** The offset after the last line end: the file's size if its last line is complete, 0 if no line is. */
export function endOfLastLine(files: MirrorFiles, path: string, size: number): number {
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - PORTION);
    const found = files.readAt(path, from, end - from).lastIndexOf(NEWLINE);
    if (found >= 0) return from + found + 1;
    end = from;
  }
  return 0;
}

/**
 * The last complete lines between `start` and `end`: at least one if there is any, and as many as fit into `bytes`. `whole`:
 * these are all of them.
 */
export function lastLines(
  files: MirrorFiles,
  path: string,
  { start, end }: { readonly start: number; readonly end: number },
  bytes: number,
): { readonly lines: readonly string[]; readonly whole: boolean } {
  for (let want = bytes; ; want *= 8) {
    const from = Math.max(start, end - want);
    const window = files.readAt(path, from, end - from);
    const first = from === start ? 0 : window.indexOf(NEWLINE) + 1;
    if (first < window.length && (from === start || first > 0)) {
      return { lines: window.toString("utf8", first, window.length - 1).split("\n"), whole: from === start };
    }
    if (from === start) return { lines: [], whole: true };
  }
}

/**
 * Reads a file once from its beginning, in portions, so that the system has it in memory. A search touches pages all over the index: read
 * one by one from a disk they cost ten times what they cost in order.
 */
import { closeSync, openSync, readSync } from "node:fs";

const PORTION = 8 * 1024 * 1024;
/** Of an index that is larger, the rest is read when it is needed. */
const MAX_BYTES = 1024 * 1024 * 1024;

interface ReadAhead {
  /** Reads one portion; false if there is no more to read. Never throws. */
  step(): boolean;
}

export function readAhead(path: string): ReadAhead {
  let at = 0;
  return {
    step() {
      if (at >= MAX_BYTES) return false;
      let file: number | undefined;
      try {
        file = openSync(path, "r");
        const read = readSync(file, new Uint8Array(PORTION), 0, PORTION, at);
        at = read < PORTION ? MAX_BYTES : at + read;
      } catch {
        at = MAX_BYTES;
      } finally {
        if (file !== undefined) closeSync(file);
      }
      return at < MAX_BYTES;
    },
  };
}

/** The time a process had: without the time in which it wanted to run and others did, so that a busy machine changes no verdict. */
import { readFileSync } from "node:fs";

const now = performance.now.bind(performance);
const read = readFileSync;
const PAGE_BYTES = 4096;

/** Milliseconds; only differences mean something. */
export function ownTime(): number {
  return now() - waited("self");
}

/** Milliseconds of processor time that the main thread of a process has used. */
export function processorTime(pid: number): number {
  return schedule(pid)[0] / 1e6;
}

/** Bytes of memory that a process holds. */
export function residentMemory(pid: number): number {
  try {
    return Number(read(`/proc/${pid}/statm`, "utf8").split(" ")[1] ?? 0) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

function waited(process: "self"): number {
  return schedule(process)[1] / 1e6;
}

function schedule(process: number | "self"): readonly [number, number] {
  try {
    const [ran = "0", waited = "0"] = read(`/proc/${process}/schedstat`, "utf8").split(" ");
    return [Number(ran), Number(waited)];
  } catch {
    return [0, 0];
  }
}

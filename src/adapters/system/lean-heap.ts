/**
 * Keeps the process small. By itself V8 lets garbage pile up to a multiple of what is alive, because the machine has the
 * room; an engine that is always there should not take it. Call it first, while the heap is small.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Room for new objects, both halves: enough that most of a turn's garbage dies young, little enough to be cheap. */
const YOUNG_BYTES = 8 * 1_048_576;
const MAX_ROUNDS = 100;

export function leanHeap(): void {
  growYoung();
  // From here on that room does not grow, and old objects are collected when they have doubled.
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--heap-growing-percent=100");
}

/**
 * Once the process runs, V8 heeds no size for that room, only the factor by which it grows when much survives in it: so
 * something is made to survive, for a few milliseconds, until it has grown once.
 */
function growYoung(): void {
  setFlagsFromString("--semi-space-growth-factor=4");
  for (let round = 0; round < MAX_ROUNDS && youngBytes() < YOUNG_BYTES; round++) {
    const kept: object[] = [];
    for (let n = 0; n < 10_000; n++) kept.push({ n });
  }
}

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? YOUNG_BYTES;

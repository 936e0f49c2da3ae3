/**
 * Limits how far the heap grows. By default V8 lets garbage grow to a multiple of the live objects; an engine that runs all
 * the time should stay small. Call it first, while the heap is small.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** The size of the young generation. Most garbage of a turn dies in it, and collecting it is still cheap. */
const YOUNG_BYTES = 8 * 1_048_576;
const MAX_ROUNDS = 100;

export function limitHeap(): void {
  growYoungGeneration();
  // From now on the young generation keeps its size, and old objects are collected when they have doubled.
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--heap-growing-percent=100");
}

/**
 * In a running process V8 ignores a size for the young generation. It only applies a growth factor when many objects
 * survive a collection, so this creates survivors until it has grown once. Takes a few milliseconds.
 */
function growYoungGeneration(): void {
  setFlagsFromString("--semi-space-growth-factor=4");
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    if (!young || young.space_size >= YOUNG_BYTES) return;
    const survivors: object[] = [];
    for (let n = 0; n < 10_000; n++) survivors.push({ n });
  }
}

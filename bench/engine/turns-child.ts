/** Runs in its own process, started like the `rookery` command: compiled code from the cache, a small heap. */
import { enableCompileCache } from "node:module";
import { limitHeap } from "../../src/adapters/system/limit-heap.ts";

enableCompileCache();
limitHeap();
await import("./turns.ts");

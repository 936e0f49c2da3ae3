/** Run in a process of its own, started as the `rookery` command starts: compiled code from the cache, a lean heap. */
import { enableCompileCache } from "node:module";
import { limitHeap } from "../../src/adapters/system/limit-heap.ts";

enableCompileCache();
limitHeap();
await import("./turns.ts");

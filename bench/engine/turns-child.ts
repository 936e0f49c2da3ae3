/** Run in a process of its own, started as the `rookery` command starts: compiled code from the cache, a lean heap. */
import { enableCompileCache } from "node:module";
import { leanHeap } from "../../src/adapters/system/lean-heap.ts";

enableCompileCache();
leanHeap();
await import("./turns.ts");

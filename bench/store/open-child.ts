/** Runs in its own process: opens a home's store, claims the busy agents, and prints the time and the memory it took. */
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";

const home = process.argv[2];
if (home === undefined) throw new Error("Which home?");
const begun = performance.now();
const store = openSqliteStore({ home });
const joined = await store.commit({
  id: "open" as never,
  site: "bench.open",
  at: 1,
  ops: [{ op: "node.join", name: "bench", leaseUntil: Number.MAX_SAFE_INTEGER }],
});
const node = joined.ok && joined.results[0]?.op === "node.join" ? joined.results[0].node : 0;
await store.commit({
  id: "claim" as never,
  site: "bench.open",
  at: 2,
  ops: [{ op: "agents.claim", node, limit: 100 }],
});
const ms = performance.now() - begun;
await store.agents({ limit: 100 });
console.log(JSON.stringify({ ms, residentMb: process.memoryUsage.rss() / 1_048_576 }));
await store.close();

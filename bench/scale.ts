/** Measures several nodes on one PostgreSQL: two nodes against one, durable steps per second, and claiming among many. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgresStore } from "../src/adapters/store/postgres/open-store.ts";
import { openSqliteStore } from "../src/adapters/store/sqlite/open-store.ts";
import { startServer } from "../test/postgres/server.ts";
import type { Bench, Figure, Goal } from "./report.ts";
import { claimCosts } from "./scale/claims.ts";
import { steps } from "./scale/steps.ts";
import { type Throughput, throughput } from "./scale/throughput.ts";
import { median } from "./statistics.ts";

const AGENTS = 2_000;
const LANE = 64;
const MODEL_MS = 200;
const SETTINGS = { shared_buffers: "512MB", max_wal_size: "8GB", max_connections: "100" };

const goal = (what: string, wanted: number, better: Goal["better"], measured: number, unit: string): Goal => ({
  what,
  goal: wanted,
  better,
  measured,
  unit,
});

const oursOf = ({ nodes, database, load }: Throughput): number => (nodes + database + load) * 100;

const shares = (what: string, measured: Throughput): readonly Figure[] =>
  (["nodes", "database", "load", "machine"] as const).map((who) => ({
    what: `${what}: processors used by ${who === "machine" ? "everything on this machine" : `the ${who}`}`,
    value: measured[who] * 100,
    unit: "% of all",
  }));

export const scaleBench: Bench = {
  about: "two nodes against one on PostgreSQL, durable steps per second, claiming among 100,000 agents",
  async run(say) {
    const server = await startServer({ durable: true, settings: SETTINGS });
    const home = mkdtempSync(join(tmpdir(), "rookery-scale-"));
    try {
      say("durable steps on PostgreSQL, cross-agent sends included …");
      const store = await openPostgresStore({ url: await server.createDatabase("steps") });
      const shared = await steps(store, AGENTS, 4_000, 3);
      await store.close();
      say("the same on SQLite …");
      const embedded = openSqliteStore({ home });
      const alone = await steps(embedded, AGENTS, 4_000, 3);
      await embedded.close();
      say("claiming with 100 agents at rest and with 100,000, in turns …");
      const urls = [await server.createDatabase("few"), await server.createDatabase("many")] as const;
      const claims = await claimCosts(urls, [100, 100_000], 101);
      const common = { agents: AGENTS, lane: LANE, modelMs: MODEL_MS, warmMs: 8_000, measureMs: 12_000 };
      say(`${AGENTS.toLocaleString("en")} agents, a model of ${MODEL_MS} ms, lane ${LANE}: one node …`);
      const serverPid = server.pid;
      const one = await throughput({ ...common, serverPid, nodes: 1, url: await server.createDatabase("one") });
      say("two nodes …");
      const two = await throughput({ ...common, serverPid, nodes: 2, url: await server.createDatabase("two") });
      const perSecond = median(shared.map((round) => round.perSecond));
      return {
        figures: [
          { what: "durable steps on PostgreSQL, p50", value: median(shared.map(({ p50 }) => p50)), unit: "ms" },
          { what: "durable steps on PostgreSQL, p99", value: median(shared.map(({ p99 }) => p99)), unit: "ms" },
          { what: "durable steps on SQLite", value: median(alone.map((round) => round.perSecond)), unit: "steps/s" },
          { what: "a claim of 50 among 100 agents", value: claims.small, unit: "ms" },
          { what: "a claim of 50 among 100,000 agents", value: claims.large, unit: "ms" },
          { what: "one node", value: one.perSecond, unit: "answers/s" },
          ...shares("one node", one),
          { what: "two nodes", value: two.perSecond, unit: "answers/s" },
          ...shares("two nodes", two),
        ],
        goals: [
          goal("two nodes against one", 1.8, "more", two.perSecond / one.perSecond, "×"),
          goal("one node: nodes, database and load, of all processors", 70, "less", oursOf(one), "%"),
          goal("two nodes: nodes, database and load, of all processors", 70, "less", oursOf(two), "%"),
          goal("durable steps with group commit, one node", 4_000, "more", perSecond, "steps/s"),
          goal("claiming with 100,000 idle agents against 100", 1.2, "less", claims.ratio, "×"),
        ],
      };
    } finally {
      await server.stop();
      rmSync(home, { recursive: true, force: true });
    }
  },
};

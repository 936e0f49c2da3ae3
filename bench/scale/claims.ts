/** Measures what claiming work costs with many idle agents: a batch of waiting agents is claimed and released. */
import pg from "pg";
import { openPostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import { median } from "../statistics.ts";
import { agentIdOf, messageOf, seedOf } from "../store/workload.ts";

const BUSY = 50;

/** Milliseconds a claim of fifty takes, with `small` agents in one database and `large` in the other, in turns. */
export async function claimCosts(urls: readonly [string, string], sizes: readonly [number, number], rounds: number) {
  const [small, large] = [await claiming(urls[0], sizes[0]), await claiming(urls[1], sizes[1])];
  const took = { small: [] as number[], large: [] as number[], ratio: [] as number[] };
  for (let round = -3; round < rounds; round++) {
    const [a, b] = [await small.claim(), await large.claim()];
    if (round < 0) continue;
    took.small.push(a);
    took.large.push(b);
    took.ratio.push(b / a);
  }
  await small.close();
  await large.close();
  return { small: median(took.small), large: median(took.large), ratio: median(took.ratio) };
}

async function claiming(url: string, agents: number) {
  const store = await openPostgresStore({ url });
  const ids = systemIds();
  const commit = async (ops: Parameters<typeof store.commit>[0]["ops"]) => {
    const result = await store.commit({ id: ids.change(), site: "bench", at: Date.now(), ops });
    if (!result.ok) throw new Error(result.detail);
    return result.results;
  };
  for (let n = 0; n < BUSY; n++) await commit([{ op: "agent.create", seed: seedOf(n) }]);
  await populate(url, agents);
  const [joined] = await commit([{ op: "node.join", name: "bench", leaseUntil: Date.now() + 3_600_000 }]);
  const node = joined?.op === "node.join" ? joined.node : 0;
  for (let n = 0; n < BUSY; n++) {
    await commit([{ op: "message.post", to: { agentId: agentIdOf(n) }, message: messageOf(n, 0) }]);
  }
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  return {
    async claim(): Promise<number> {
      await admin.query("UPDATE rookery.agents SET node = NULL WHERE node IS NOT NULL");
      const at = performance.now();
      const [claimed] = await commit([{ op: "agents.claim", node, limit: 100 }]);
      const ms = performance.now() - at;
      if (claimed?.op !== "agents.claim" || claimed.claims.length !== BUSY) throw new Error("Not all were claimed.");
      return ms;
    },
    async close() {
      await admin.end();
      await store.close();
    },
  };
}

/** Creates many idle agents inside the database. */
async function populate(url: string, agents: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("SET search_path TO rookery");
  await client.query(
    `INSERT INTO agents (id, session_key, profile, kind, descriptor, created_at, session_id, next_pos, leaf)
     SELECT 'idle' || lpad(n::text, 20, '0'), 'idle:' || n, 'main', 'user', '{}', 0, '', 0, '' FROM generate_series(1, $1::int) AS n`,
    [agents],
  );
  await client.query("ANALYZE");
  await client.end();
}

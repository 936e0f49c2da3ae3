/** Measures in the database how long agents stay without a live owner after their node died or was paused. */
import type pg from "pg";

export interface Taken {
  readonly agents: number;
  readonly ms: number;
}

const LOOK_MS = 25;

/** Agents of a process that have an open run now, with their epoch. */
export async function heldBy(client: pg.Client, pid: number): Promise<readonly { id: string; epoch: number }[]> {
  const { rows } = await client.query(
    `SELECT a.id, a.epoch::int AS epoch FROM rookery.agents a JOIN rookery.nodes n ON n.node = a.node
     WHERE n.name LIKE '% pid ' || $1::text AND a.run_id IS NOT NULL`,
    [pid],
  );
  return rows;
}

/** Resolves with the time until all of them have an owner again or no work left; rejects after `atMostMs`. */
export async function takenOver(
  client: pg.Client,
  orphans: readonly { id: string; epoch: number }[],
  atMostMs: number,
): Promise<Taken> {
  const began = performance.now();
  let left = orphans.length;
  while (left > 0) {
    const { rows } = await client.query(
      `SELECT count(*)::int AS left FROM unnest($1::text[], $2::bigint[]) AS o (id, epoch)
       JOIN rookery.agents a ON a.id = o.id AND a.epoch = o.epoch AND a.run_id IS NOT NULL`,
      [orphans.map(({ id }) => id), orphans.map(({ epoch }) => epoch)],
    );
    left = rows[0]?.left ?? 0;
    const ms = performance.now() - began;
    if (left > 0 && ms > atMostMs)
      throw new Error(`${left} of ${orphans.length} agents are still orphans after ${Math.round(ms)} ms`);
    if (left > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return { agents: orphans.length, ms: performance.now() - began };
}

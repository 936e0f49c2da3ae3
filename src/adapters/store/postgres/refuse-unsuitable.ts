/**
 * Refuses databases this program cannot work with: a server that is too old, and a pooler that shares one connection
 * between clients. Notifications, and the locks by which a dead node is found, belong to a connection; such a pooler loses
 * them (M23).
 */
import type pg from "pg";
import { StoreUnsuitableError } from "../../../core/errors.ts";

const OLDEST = 150_000;

export async function refuseUnsuitable(open: () => Promise<pg.Client>): Promise<void> {
  const one = await open();
  const two = await open();
  try {
    const version = Number((await one.query("SHOW server_version_num")).rows[0]?.server_version_num);
    if (version < OLDEST) {
      throw new StoreUnsuitableError(`The database is PostgreSQL ${Math.floor(version / 10_000)}, which is too old.`, {
        hint: "Use PostgreSQL 15 or newer.",
      });
    }
    // Two connected clients have two server processes, unless a pooler shares them.
    const first = await pidOf(one);
    await two.query("BEGIN");
    const other = await pidOf(two);
    const again = await pidOf(one);
    await two.query("COMMIT");
    if (first === other || first !== again) {
      throw new StoreUnsuitableError("There is a pooler in transaction mode between this program and PostgreSQL.", {
        hint: "Connect to the database directly, or set the pooler to session mode (pool_mode = session).",
      });
    }
  } finally {
    await Promise.allSettled([one.end(), two.end()]);
  }
}

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
  return Number(rows[0]?.pid);
}

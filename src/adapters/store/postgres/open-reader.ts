/** Opens the shared store for reading only: nothing is migrated, joined or locked. */
import { randomUUID } from "node:crypto";
import { NotFoundError, StoreNewerError } from "../../../core/errors.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { Connections } from "./connections.ts";
import { explain } from "./database-error.ts";
import { migrations } from "./migrate.ts";
import { DEFAULT_SCHEMA } from "./open-store.ts";
import { readerOf } from "./reader.ts";

interface PostgresReader extends StoreReader {
  readonly connections: Connections;
  close(): Promise<void>;
}

export async function openPostgresReader(options: { url: string; schema?: string }): Promise<PostgresReader> {
  const { default: pg } = await import("pg");
  const connections = new Connections(pg, {
    url: options.url,
    schema: options.schema ?? DEFAULT_SCHEMA,
    applicationName: `rookery reader ${randomUUID()}`,
    maxConnections: 4,
  });
  try {
    await refuseForeign(connections);
  } catch (error) {
    await connections.close();
    throw error instanceof Error && "retryable" in error ? error : explain(error);
  }
  return { ...readerOf(connections), connections, close: () => connections.close() };
}

async function refuseForeign(connections: Connections): Promise<void> {
  await connections.use("read", async (client) => {
    const { rows: found } = await client.query("SELECT to_regclass('meta') IS NOT NULL AS there");
    if (!found[0]?.there) {
      throw new NotFoundError("That database has no tables of this program.", {
        hint: "Check the address. A node creates the tables when it starts for the first time.",
      });
    }
    const { rows } = await client.query("SELECT value FROM meta WHERE key = 'schema_version'");
    const known = migrations().at(-1)?.version ?? 0;
    if (Number(rows[0]?.value) > known) {
      throw new StoreNewerError(`The database has schema version ${rows[0]?.value}; this program knows ${known}.`, {
        hint: "Use the newer program. Nothing was changed.",
      });
    }
  });
}

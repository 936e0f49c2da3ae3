/** Opens the shared store: checks and migrates the database, opens connections, group commit and the control connection. */
import { randomUUID } from "node:crypto";
import type { Leases, Relay } from "../../../core/ports/cluster.ts";
import type { Store } from "../../../core/store/store.ts";
import { applyFunctions } from "./apply-functions.ts";
import { applyGroup } from "./apply-group.ts";
import { outcomeOf } from "./changes.ts";
import { Connections } from "./connections.ts";
import { ControlConnection } from "./control-connection.ts";
import { explain } from "./database-error.ts";
import { eraserOf } from "./erase.ts";
import { GroupCommit } from "./group-commit.ts";
import { migrate } from "./migrate.ts";
import { readerOf } from "./reader.ts";
import { refuseUnsuitable } from "./refuse-unsuitable.ts";

interface PostgresStoreOptions {
  readonly url: string;
  /** The schema that holds all tables. */
  readonly schema?: string;
  readonly maxConnections?: number;
  readonly maxBatch?: number;
  /** Groups in progress at once. */
  readonly lanes?: number;
  /** Which clock measures leases. The database's is the same for all nodes; tests use their own time. */
  readonly leaseClock?: "database" | "changes";
  readonly connectTimeoutMs?: number;
  /** How long to try to find out what was applied after a connection broke, before a commit counts as unknown. */
  readonly settleMs?: number;
}

export interface PostgresStore extends Store {
  readonly connections: Connections;
  readonly relay: Relay;
  readonly leases: Leases;
}

export const DEFAULT_SCHEMA = "rookery";

/** Rejects with `StoreUnavailableError`, `StoreUnsuitableError`, `StoreNewerError` or `MigrationError`. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { default: pg } = await import("pg");
  const self = randomUUID();
  const schema = options.schema ?? DEFAULT_SCHEMA;
  const lanes = options.lanes ?? 4;
  const connections = new Connections(pg, {
    url: options.url,
    schema,
    applicationName: `rookery ${self}`,
    maxConnections: options.maxConnections ?? 10,
    lanes,
    connectTimeoutMs: options.connectTimeoutMs,
  });
  try {
    await refuseUnsuitable(() => connections.own());
    const client = await connections.own();
    try {
      await migrate(client, schema);
      // Nodes whose process ended without leaving are marked as gone.
      await client.query(`SELECT ${applyFunctions().retireDead}(0)`);
    } finally {
      await client.end();
    }
    const control = new ControlConnection(connections, self);
    await control.open();
    const applier = {
      connections,
      databaseClock: options.leaseClock !== "changes",
      settleMs: options.settleMs ?? 4_000,
    };
    const group = new GroupCommit({
      maxBatch: options.maxBatch ?? 128,
      lanes,
      async apply(changes, batchable) {
        const results = await applyGroup(applier, changes, batchable);
        // A join is answered only after its lock is held.
        for (const result of results) {
          if (result instanceof Error || !result.ok) continue;
          for (const joined of result.results) if (joined?.op === "node.join") await control.hold(joined.node);
        }
        control.publishHints(changes, results);
        return results;
      },
    });
    let closing: Promise<void> | undefined;
    const reader = readerOf(connections);
    return {
      ...reader,
      eraser: eraserOf(connections),
      ready: async () => void (await reader.nodes()),
      commit: (change) => group.commit(change),
      outcome: (id) => outcomeOf(connections, id),
      onHint: (listener) => control.onHint(listener),
      connections,
      relay: control.relay,
      leases: control.leases,
      close() {
        closing ??= (async () => {
          await group.close();
          await control.close();
          await connections.close();
        })();
        return closing;
      },
    };
  } catch (error) {
    // No connection of a pool is made before the store is open; the others are ended where they are made.
    throw error instanceof Error && "retryable" in error ? error : explain(error);
  }
}

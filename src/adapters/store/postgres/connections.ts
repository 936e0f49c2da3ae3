/**
 * The connections of one store: a pool for reads and commits, every connection set up the same way, and errors told in our
 * words. A connection that is lost is replaced when the next one is needed.
 */
import type pg from "pg";
import { RookeryError, StoreClosedError } from "../../../core/errors.ts";
import { BatchedReads } from "./batched-reads.ts";
import { explain, isBroken } from "./database-error.ts";
import { Places } from "./places.ts";

export interface ConnectionOptions {
  readonly url: string;
  readonly schema: string;
  /** Told to the server, so that an administrator sees whose connection it is. */
  readonly applicationName: string;
  readonly maxConnections: number;
  /** How many of them commit; the rest read. */
  readonly lanes?: number;
  readonly connectTimeoutMs?: number;
}

export type Use = "read" | "commit";

interface Pool {
  readonly pool: pg.Pool;
  readonly places: Places;
}

export type Row = Record<string, unknown>;

/** Integers of 64 bits are counters and times here: all fit a number. */
const BIGINT = 20;

export class Connections {
  readonly #pg: typeof pg;
  readonly options: ConnectionOptions;
  readonly #pools: Readonly<Record<Use, Pool>>;
  readonly #pids = new WeakMap<pg.ClientBase, number>();
  readonly #reads: BatchedReads;
  #closed = false;

  constructor(driver: typeof pg, options: ConnectionOptions) {
    this.#pg = driver;
    this.options = options;
    // Apart from each other, so that however many read, a commit never waits behind them.
    const commits = Math.max(1, Math.min(options.lanes ?? 1, options.maxConnections - 1));
    const pool = (max: number): Pool => {
      const made = new driver.Pool({ ...this.#config(), max, idleTimeoutMillis: 60_000 });
      // A connection that breaks while nobody uses it concerns nobody: the pool drops it.
      made.on("error", () => undefined);
      return { pool: made, places: new Places(max) };
    };
    this.#pools = { commit: pool(commits), read: pool(options.maxConnections - commits) };
    this.#reads = new BatchedReads((query) => this.#read(query));
  }

  #config(): pg.ClientConfig {
    const { getTypeParser } = this.#pg.types;
    return {
      connectionString: this.options.url,
      application_name: this.options.applicationName,
      connectionTimeoutMillis: this.options.connectTimeoutMs ?? 5_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      types: {
        getTypeParser: ((oid: number, format?: "text" | "binary") =>
          oid === BIGINT ? Number : getTypeParser(oid, format as "text")) as typeof getTypeParser,
      },
    };
  }

  /**
   * Uses a connection of the pool, set up; `broken` in the answer throws it away. Waits for its turn without a limit: only
   * a connection that cannot be made is an error, told as `StoreUnavailableError`.
   */
  async use<T>(use: Use, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const { pool, places } = this.#pools[use];
    const leave = await places.enter();
    try {
      const client = await this.#take(pool);
      try {
        const result = await work(client);
        client.release();
        return result;
      } catch (error) {
        client.release(isBroken(error));
        throw error;
      }
    } finally {
      leave();
    }
  }

  async #take(pool: pg.Pool): Promise<pg.PoolClient> {
    if (this.#closed) throw new StoreClosedError("The store is closed.");
    let client: pg.PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw explain(error);
    }
    if (this.#pids.has(client)) return client;
    // Whoever uses it learns of a break from the answer; this is for the moments between.
    client.on("error", () => undefined);
    try {
      await this.#setUp(client);
    } catch (error) {
      client.release(true);
      throw explain(error);
    }
    return client;
  }

  /** A connection of its own, outside of the pool: for locks that live as long as it does, and for listening. */
  async own(): Promise<pg.Client> {
    const client = new this.#pg.Client(this.#config());
    client.on("error", () => undefined);
    try {
      await client.connect();
      await this.#setUp(client);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw explain(error);
    }
    return client;
  }

  /** The server process behind a connection. */
  pidOf(client: pg.ClientBase): number {
    return this.#pids.get(client) ?? 0;
  }

  async #setUp(client: pg.ClientBase): Promise<void> {
    // Every statement here is meant for an index and for one plan; what the planner guesses of young tables would mislead.
    // A plan kept from then that hashes a whole table would cost more with every message there is.
    const results = (await client.query(
      `SET search_path TO ${this.#pg.escapeIdentifier(this.options.schema)};
       SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
       SET enable_mergejoin = off; SET enable_material = off; SET jit = off;
       SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
       SELECT pg_backend_pid() AS pid`,
    )) as unknown as pg.QueryResult[];
    this.#pids.set(client, Number(results.at(-1)?.rows[0]?.pid));
  }

  /** Reads with the statement of `sql/<name>.sql`, together with others that ask the same at the same moment. */
  rows(name: string, values: readonly unknown[]): Promise<readonly Row[]> {
    if (this.#closed) return Promise.reject(new StoreClosedError("The store is closed."));
    return this.#reads.ask(name, values);
  }

  /** A broken connection is tried once more. */
  async #read(query: pg.QueryConfig): Promise<readonly Row[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.use("read", async (client) => (await client.query(query)).rows);
      } catch (error) {
        if (error instanceof RookeryError) throw error;
        if (isBroken(error) && attempt === 1) continue;
        throw this.#closed ? new StoreClosedError("The store is closed.") : explain(error);
      }
    }
  }

  get closed(): boolean {
    return this.#closed;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.allSettled(Object.values(this.#pools).map(({ pool }) => pool.end()));
  }
}

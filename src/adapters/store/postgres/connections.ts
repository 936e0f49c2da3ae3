/**
 * The connections of one store: a pool for reads and one for commits, every connection set up the same way, and typed
 * errors. A connection that breaks is replaced when the next one is needed.
 */
import type pg from "pg";
import { RookeryError, StoreClosedError } from "../../../core/errors.ts";
import { BatchedReads, type Row, type Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import { explain, isBroken } from "./database-error.ts";
import { Semaphore } from "./semaphore.ts";

interface ConnectionOptions {
  readonly url: string;
  readonly schema: string;
  /** Sent to the server, so that an administrator sees which process a connection belongs to. */
  readonly applicationName: string;
  readonly maxConnections: number;
  /** How many of them commit; the rest read. */
  readonly lanes?: number;
  readonly connectTimeoutMs?: number;
}

type Use = "read" | "commit";

interface Pool {
  readonly pool: pg.Pool;
  readonly slots: Semaphore;
}

/** 64-bit integers are counters and times here: all fit a number. */
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
    // Two pools, so that a commit never waits behind reads.
    const commits = Math.max(1, Math.min(options.lanes ?? 1, options.maxConnections - 1));
    const pool = (max: number): Pool => {
      const made = new driver.Pool({ ...this.#config(), max, idleTimeoutMillis: 60_000 });
      // The pool drops a connection that breaks while it is idle.
      made.on("error", () => undefined);
      return { pool: made, slots: new Semaphore(max) };
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
   * Runs `work` with a connection of a pool, and drops the connection if `work` finds it broken. Waits for a free one
   * without a limit; rejects with `StoreUnavailableError` only if no connection can be made.
   */
  async use<T>(use: Use, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const { pool, slots } = this.#pools[use];
    const release = await slots.acquire();
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
      release();
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
    // A query in progress rejects if the connection breaks; this listener is for the time between queries.
    client.on("error", () => undefined);
    try {
      await this.#setUp(client);
    } catch (error) {
      client.release(true);
      throw explain(error);
    }
    return client;
  }

  /** A separate connection outside of the pool: for locks that last as long as it does, and for listening. */
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
    // Every statement here is written for an index and for one plan. The planner misjudges new tables: a plan that is
    // cached then and hashes a whole table would cost more with every message.
    const results = (await client.query(
      `SET search_path TO ${this.#pg.escapeIdentifier(this.options.schema)};
       SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
       SET enable_mergejoin = off; SET enable_material = off; SET jit = off;
       SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
       SELECT pg_backend_pid() AS pid`,
    )) as unknown as pg.QueryResult[];
    this.#pids.set(client, Number(results.at(-1)?.rows[0]?.pid));
  }

  /** The rows of a statement; `Row` names the columns it selects. Text PostgreSQL cannot store is cleaned first. */
  async all<Result>(statement: Statement, ...values: readonly unknown[]): Promise<readonly Result[]> {
    if (this.#closed) throw new StoreClosedError("The store is closed.");
    const cleaned = values.map((value) => (typeof value === "string" ? clean(value) : value));
    return (await this.#reads.ask(statement, cleaned)) as readonly Result[];
  }

  async one<Result>(statement: Statement, ...values: readonly unknown[]): Promise<Result | undefined> {
    return (await this.all<Result>(statement, ...values))[0];
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

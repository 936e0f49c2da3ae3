/**
 * A world's database on a real PostgreSQL: the store's own statements behind the simulated wire. Virtual time stands still
 * while the server works, so that the world runs as on SQLite. One database per process, emptied between worlds.
 */
import { applyGroup } from "../../../src/adapters/store/postgres/apply-group.ts";
import { BatchGroup, isBatchable } from "../../../src/adapters/store/postgres/batchable.ts";
import { outcomeOf } from "../../../src/adapters/store/postgres/changes.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/adapters/store/postgres/open-store.ts";
import { readerOf } from "../../../src/adapters/store/postgres/reader.ts";
import { emptied } from "../../postgres/emptied.ts";
import { withClient } from "../../postgres/server.ts";
import type { WorldDatabase } from "./database.ts";

/** The statements that the server is working on now. */
class UnderWay {
  #count = 0;
  #idle: (() => void)[] = [];

  track<T>(work: Promise<T>): Promise<T> {
    this.#count += 1;
    return work.finally(() => {
      this.#count -= 1;
      if (this.#count === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
  }

  idle(): Promise<void> | undefined {
    return this.#count === 0 ? undefined : new Promise((resolve) => this.#idle.push(resolve));
  }
}

const stores = new Map<string, Promise<PostgresStore>>();

function storeOn(server: string): Promise<PostgresStore> {
  let store = stores.get(server);
  if (!store) {
    store = open(server);
    stores.set(server, store);
  }
  return store;
}

async function open(server: string): Promise<PostgresStore> {
  const name = `sim_${process.pid}_${stores.size}`;
  await withClient(server, (client) => client.query(`CREATE DATABASE "${name}"`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return openPostgresStore({ url: url.href, leaseClock: "changes" });
}

/** Ends the connections of this process, so that the process can end. */
export async function closePostgres(): Promise<void> {
  for (const store of stores.values()) await (await store).close();
  stores.clear();
}

export async function postgresDatabase(server: string): Promise<WorldDatabase> {
  const store = await storeOn(server);
  await emptied(store);
  const under = new UnderWay();
  const { connections } = store;
  const reader = readerOf(connections);
  const applier = { connections, databaseClock: false, settleMs: 1_000 };
  const tracked = new Proxy(reader, {
    get(target, name) {
      const read: unknown = Reflect.get(target, name);
      if (typeof read !== "function") return read;
      return (...values: unknown[]) => under.track(read.apply(target, values) as Promise<unknown>);
    },
  });
  return {
    get db(): never {
      throw new Error("Mutations of the store are for SQLite.");
    },
    idle: () => under.idle(),
    backend: {
      reader: tracked,
      apply(changes) {
        const group = new BatchGroup();
        const plain = changes.every((change) => isBatchable(change) && group.takes(change));
        return under.track(applyGroup(applier, changes, plain));
      },
      outcome: (id) => under.track(outcomeOf(connections, id)),
    },
    async reopen(alone) {
      if (!alone) return;
      await under.track(connections.use("read", (client) => client.query("UPDATE nodes SET gone = 1 WHERE gone = 0")));
    },
    close() {},
  };
}

/**
 * Mutants in the functions that apply changes inside PostgreSQL. When one is turned on, the databases that the test used get
 * its text under the function's own name, and the original when it is turned off. A database that the test opens itself
 * gets the text of the mutant that is on. A text that PostgreSQL refuses fails the test.
 */
import pg from "pg";
import { type Mutant, mutated } from "./mutant.ts";
import { probeOf, withProbes } from "./probes.ts";

export interface DatabaseFunctions {
  /** What the names of the functions end with in a database. */
  readonly digest: string;
  /** By file: its text, with the names in braces. */
  readonly texts: Readonly<Record<string, string>>;
  /** By number. */
  readonly mutants: Readonly<Record<number, Mutant>>;
}

type Query = (this: pg.Client, ...all: readonly unknown[]) => unknown;

interface Database {
  /** A connection of the test to it. */
  readonly user: pg.Client;
  own?: pg.Client | undefined;
}

export class FunctionSwitches {
  readonly #functions: DatabaseFunctions;
  readonly #meet: (numbers: readonly number[]) => void;
  readonly #query = pg.Client.prototype.query as unknown as Query;
  /** By the text with which a store gives a function to its database: the function's file. */
  readonly #fileOf: ReadonlyMap<string, string>;
  readonly #numbersAt: ReadonlyMap<string, readonly number[]>;
  readonly #watched = new WeakSet<pg.Client>();
  /** Those that the test used. */
  readonly #databases = new Map<string, Database>();
  #active: Mutant | undefined;

  /** `meet` is called with the mutants that a test meets. */
  constructor(functions: DatabaseFunctions, meet: (numbers: readonly number[]) => void) {
    this.#functions = functions;
    this.#meet = meet;
    const { texts, mutants } = functions;
    this.#fileOf = new Map(Object.entries(texts).map(([file, text]) => [this.#named(text), file]));
    const numbers = Object.keys(mutants).map(Number);
    this.#numbersAt = Map.groupBy(numbers, (number) => {
      const { file = "", line = 0 } = mutants[number] ?? {};
      return probeOf(file, texts[file] ?? "", line);
    });
    const switches = this;
    pg.Client.prototype.query = function (this: pg.Client, ...all: readonly unknown[]): unknown {
      return switches.#watch(this, all);
    } as never;
  }

  async turnOn(number: number): Promise<void> {
    this.#active = this.#functions.mutants[number];
    if (this.#active) await this.#install(this.#active.file);
  }

  async turnOff(): Promise<void> {
    const { file } = this.#active ?? {};
    this.#active = undefined;
    if (file !== undefined) await this.#install(file);
  }

  /** The next test uses its own databases. */
  async forget(): Promise<void> {
    const own = [...this.#databases.values()].map((one) => one.own);
    this.#databases.clear();
    await Promise.all(own.map((client) => client?.end()));
  }

  #watch(client: pg.Client, [first, ...rest]: readonly unknown[]): unknown {
    const text = typeof first === "string" ? first : String((first as { text?: unknown } | undefined)?.text);
    const file = this.#fileOf.get(text);
    if (file !== undefined || text.includes(`_${this.#functions.digest}(`)) {
      const key = `${client.host}:${client.port}/${client.database}`;
      if (!this.#databases.has(key)) this.#databases.set(key, { user: client });
      if (!this.#watched.has(client))
        client.on("notice", ({ message }) => this.#meet(this.#numbersAt.get(message ?? "") ?? []));
      this.#watched.add(client);
    }
    return this.#query.call(client, file === undefined ? first : this.#textOf(file), ...rest);
  }

  /** A function as it is now. */
  #textOf(file: string): string {
    const text = this.#functions.texts[file] ?? "";
    return this.#named(withProbes(file, this.#active?.file === file ? mutated(text, this.#active) : text));
  }

  #named(text: string): string {
    return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => `${name}_${this.#functions.digest}`);
  }

  async #install(file: string): Promise<void> {
    const text = this.#textOf(file);
    const { digest } = this.#functions;
    for (const [key, database] of this.#databases) {
      const own = database.own ?? (await connect(database));
      if (!own) {
        this.#databases.delete(key);
        continue;
      }
      // A mutant that never ends holds its locks.
      await this.#query.call(
        own,
        `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
         AND state = 'active' AND query LIKE '%\\_${digest}(%' AND pid <> pg_backend_pid()`,
      );
      const { rows } = (await this.#query.call(
        own,
        `SELECT quote_ident(nspname) AS schema FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace
         WHERE proname = 'apply_changes_${digest}'`,
      )) as pg.QueryResult<{ schema: string }>;
      for (const { schema } of rows) await this.#query.call(own, `SET search_path TO ${schema}; ${text}`);
    }
  }
}

/** Undefined if the test has ended its server or removed the database. */
async function connect(used: Database): Promise<pg.Client | undefined> {
  const { host, port, user, database } = used.user;
  const client = new pg.Client({ host, port, user, database, connectionTimeoutMillis: 2000 });
  client.on("error", () => undefined);
  // A test may end all connections of its server.
  client.once("end", () => {
    used.own = undefined;
  });
  try {
    await client.connect();
    used.own = client;
  } catch {}
  return used.own;
}

/**
 * Counts the SQLite statements of a process without changing its code: wraps the classes of `node:sqlite`. The counters are
 * shared memory, so statements of worker threads are counted too.
 */
import { DatabaseSync, StatementSync } from "node:sqlite";

export interface StatementCounts {
  /** Statements executed on connections that have written at least once. */
  readonly statements: number;
  /** Rows inserted, updated and deleted, by SQLite's own count. */
  readonly rows: number;
  /** Committed transactions that wrote at least one row. */
  readonly commits: number;
  /** Statements on connections that only read. The copy to plain files is one: a timer runs it, not a turn. */
  readonly readerStatements: number;
}

const SLOTS = ["statements", "rows", "commits", "readerStatements"] as const;

export const newCounters = (): SharedArrayBuffer => new SharedArrayBuffer(SLOTS.length * Int32Array.BYTES_PER_ELEMENT);

export function readCounters(counters: SharedArrayBuffer): StatementCounts {
  const slots = new Int32Array(counters);
  const [statements = 0, rows = 0, commits = 0, readerStatements = 0] = SLOTS.map((_, at) => Atomics.load(slots, at));
  return { statements, rows, commits, readerStatements };
}

/** The overloads of `get` hide the call without parameters. */
type StatementGet = (this: StatementSync) => Record<string, unknown> | undefined;

interface Connection {
  readonly totalChanges: StatementSync;
  /** `total_changes()` after the last statement. */
  changes: number;
  hasWritten: boolean;
  /** Statements before the first write. */
  statements: number;
  /** Rows written since the last commit. */
  uncommitted: number;
}

/** Wraps the classes of the calling thread. Returns a function that restores them. */
export function countStatements(counters: SharedArrayBuffer): () => void {
  const slots = new Int32Array(counters);
  const add = (name: (typeof SLOTS)[number], n: number): void => {
    Atomics.add(slots, SLOTS.indexOf(name), n);
  };
  const { prepare, exec } = DatabaseSync.prototype;
  const { run, get, all, iterate } = StatementSync.prototype;
  const connections = new WeakMap<DatabaseSync, Connection>();
  const databases = new WeakMap<StatementSync, DatabaseSync>();

  const changesOf = (statement: StatementSync): number =>
    Number(Object.values((get as StatementGet).call(statement) ?? {})[0]);
  const connectionOf = (db: DatabaseSync): Connection => {
    let connection = connections.get(db);
    if (!connection) {
      const totalChanges = prepare.call(db, "SELECT total_changes()");
      const changes = changesOf(totalChanges);
      connection = { totalChanges, changes, hasWritten: false, statements: 0, uncommitted: 0 };
      connections.set(db, connection);
    }
    return connection;
  };

  /** Called after each statement: its text shows only whether it rolled back. */
  const executed = (db: DatabaseSync, connection: Connection, text: string, statements: number): void => {
    const before = connection.changes;
    connection.changes = changesOf(connection.totalChanges);
    const rows = connection.changes - before;
    if (rows > 0 && !connection.hasWritten) {
      connection.hasWritten = true;
      add("statements", connection.statements);
      add("readerStatements", -connection.statements);
    }
    add(connection.hasWritten ? "statements" : "readerStatements", statements);
    if (!connection.hasWritten) connection.statements += statements;
    add("rows", rows);
    connection.uncommitted += rows;
    if (db.isTransaction) return;
    if (connection.uncommitted > 0 && !/^\s*ROLLBACK/i.test(text)) add("commits", 1);
    connection.uncommitted = 0;
  };

  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...args) {
    const statement = prepare.apply(this, args);
    databases.set(statement, this);
    return statement;
  };
  DatabaseSync.prototype.exec = function (this: DatabaseSync, text) {
    const connection = connectionOf(this);
    exec.call(this, text);
    executed(this, connection, text, text.split(";").filter((piece) => piece.trim() !== "").length);
  };
  const counted = <Call extends (...args: never[]) => unknown>(call: Call): Call =>
    function (this: StatementSync, ...args: Parameters<Call>) {
      const db = databases.get(this);
      const connection = db && connectionOf(db);
      const result = call.apply(this, args);
      if (db && connection) executed(db, connection, this.sourceSQL, 1);
      return result;
    } as unknown as Call;
  Object.assign(StatementSync.prototype, {
    run: counted(run),
    get: counted(get),
    all: counted(all),
    iterate: counted(iterate),
  });
  return () => {
    Object.assign(DatabaseSync.prototype, { prepare, exec });
    Object.assign(StatementSync.prototype, { run, get, all, iterate });
  };
}

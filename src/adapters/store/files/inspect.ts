/**
 * Inspects a database before it is opened, without writing (L11): does it exist, can it be read, does this program know its
 * version? An unreadable database is never replaced silently; `rookery engine repair` rebuilds it.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { StoreFullError, StoreNewerError, StoreUnreadableError } from "../../../core/errors.ts";
import { isOutOfRoom } from "../sqlite/disk-room.ts";
import { migrations, newerHint, versionOf } from "../sqlite/migrate.ts";
import { AGENTS_DIR } from "./file-format.ts";
import { openSnapshot } from "./snapshot.ts";

export type Inspection =
  | { readonly kind: "ok" }
  /** Neither the database nor its log exists. */
  | { readonly kind: "missing" }
  /** The log exists without its database. A new database beside it would destroy it. */
  | { readonly kind: "orphaned-wal" }
  | { readonly kind: "unreadable"; readonly reason: string }
  /** There is no room to look at it. It may be sound. */
  | { readonly kind: "no-room"; readonly reason: string }
  | { readonly kind: "newer"; readonly version: number };

/** Up to this size every page is checked at every start; above it, the schema, the small tables and the ends of the large. */
const WHOLE_CHECK_BYTES = 64 << 20;
const SMALL_TABLES = ["meta", "nodes", "jobs", "facts", "subagent_runs"];
const LARGE_TABLES = ["agents", "changes", "messages", "entries", "runs", "deliveries"];

export function inspectDatabase(path: string, options: { readonly wholeCheckBytes?: number } = {}): Inspection {
  const size = sizeOf(path);
  const log = sizeOf(`${path}-wal`);
  if (size === undefined) return log === undefined ? { kind: "missing" } : { kind: "orphaned-wal" };
  if (size === 0) {
    // SQLite takes an empty file for a new database and deletes the log beside it.
    if (log === undefined && !hasAgents(dirname(path))) return { kind: "missing" };
    return { kind: "unreadable", reason: "the file is empty" };
  }
  try {
    const copy = openSnapshot(path);
    try {
      if (isBlank(copy.sql) && !hasAgents(dirname(path))) return { kind: "missing" };
      return checked(copy.sql, size + (log ?? 0) <= (options.wholeCheckBytes ?? WHOLE_CHECK_BYTES));
    } finally {
      copy.close();
    }
  } catch (error) {
    const reason = (error as Error).message;
    return isOutOfRoom(error, dirname(path)) ? { kind: "no-room", reason } : { kind: "unreadable", reason };
  }
}

function checked(sql: DatabaseSync, whole: boolean): Inspection {
  const version = versionOf(sql);
  const newest = migrations().at(-1)?.version ?? 0;
  if (version > newest) return { kind: "newer", version };
  if (version === 0) return { kind: "unreadable", reason: "it is not a database of this program" };
  const reason = whole ? quickCheck(sql, "") : checkedInParts(sql);
  return reason === undefined ? { kind: "ok" } : { kind: "unreadable", reason };
}

/** A first start that was killed leaves a database without tables, which the next start may use. */
function isBlank(sql: DatabaseSync): boolean {
  return versionOf(sql) === 0 && sql.prepare("SELECT count(*) AS count FROM sqlite_schema").get()?.count === 0;
}

/** The first fault SQLite finds. */
function quickCheck(sql: DatabaseSync, table: string): string | undefined {
  const row = sql.prepare(`PRAGMA quick_check(${table === "" ? 1 : table})`).get();
  const found = String(Object.values(row ?? {})[0] ?? "no answer");
  return found === "ok" ? undefined : found.replaceAll(/\s+/g, " ");
}

function checkedInParts(sql: DatabaseSync): string | undefined {
  for (const table of SMALL_TABLES) {
    const reason = quickCheck(sql, table);
    if (reason !== undefined) return reason;
  }
  // Reading the first and the last row walks the tree's edges, where the newest pages are.
  for (const table of LARGE_TABLES) {
    sql.prepare(`SELECT * FROM ${table} ORDER BY rowid LIMIT 1`).get();
    sql.prepare(`SELECT * FROM ${table} ORDER BY rowid DESC LIMIT 100`).all();
  }
  return undefined;
}

const sizeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.size;

export function hasAgents(home: string): boolean {
  const dir = join(home, AGENTS_DIR);
  return existsSync(dir) && readdirSync(dir).length > 0;
}

/** Whether a start rebuilds by itself: there are agents, but neither a database nor its log. */
export function rebuildNeeded(home: string, databasePath: string): boolean {
  return !existsSync(databasePath) && !existsSync(`${databasePath}-wal`) && hasAgents(home);
}

const REPAIR =
  "Nothing was touched. Run `rookery engine repair`: it keeps the broken files and rebuilds from the plain files.";

/** Throws unless the database may be opened or created. A start of the engine calls it first. */
export function refuseUnreadable(path: string, inspection: Inspection = inspectDatabase(path)): "ok" | "missing" {
  switch (inspection.kind) {
    case "ok":
    case "missing":
      return inspection.kind;
    case "orphaned-wal":
      throw new StoreUnreadableError(`${path} is missing, but its log ${path}-wal exists.`, {
        hint: `If you moved the database, put it back. ${REPAIR}`,
      });
    case "unreadable":
      throw new StoreUnreadableError(`${path} cannot be read: ${inspection.reason}.`, { hint: REPAIR });
    case "no-room":
      throw new StoreFullError(`The disk is full: ${path} cannot be opened (${inspection.reason}).`, {
        hint: "Make room and start again. Nothing was touched, and nothing is damaged.",
      });
    case "newer":
      throw new StoreNewerError(`${path} has schema version ${inspection.version}, which this program does not know.`, {
        hint: newerHint(migrations().at(-1)?.version ?? 0, join(dirname(path), "backups")),
      });
  }
}

/**
 * `rookery engine repair`: rebuilds a database that cannot be read. Rows that can still be read go into the plain files, a new
 * database is built from them, the broken files are moved aside, and only then the new one takes their place. Nothing is
 * deleted. A crash on the way leaves either the broken database or a home that rebuilds by itself.
 */
import { existsSync, renameSync } from "node:fs";
import { StoreNewerError } from "../../../core/errors.ts";
import type { Ids } from "../../../core/ids.ts";
import { lockHome } from "../sqlite/home-lock.ts";
import { diskFiles } from "./disk-files.ts";
import { hasAgents, type Inspection, inspectDatabase, refuseUnreadable } from "./inspect.ts";
import { buildDatabase, type RebuildReport } from "./rebuild.ts";
import { type SalvageReport, salvage } from "./salvage.ts";
import { openSnapshot } from "./snapshot.ts";

interface RepairOptions {
  readonly home: string;
  readonly databasePath: string;
  readonly ids: Ids;
  readonly now: number;
  readonly onProgress?: (text: string) => void;
}

export interface RepairReport {
  readonly found: Inspection;
  /** Whether a new database replaced it. A readable one is left unchanged. */
  readonly repaired: boolean;
  /** Where the broken files are now. */
  readonly kept: readonly string[];
  readonly salvaged?: SalvageReport;
  readonly rebuilt?: RebuildReport;
}

/** Throws `HomeLockedError` while the program runs, `StoreNewerError` if a newer program wrote the database, `StoreFullError` on a full disk. */
export function repair(options: RepairOptions): RepairReport {
  const { home, databasePath, onProgress = () => {} } = options;
  const lock = lockHome(home);
  try {
    onProgress("Checking the database.");
    const found = inspectDatabase(databasePath);
    const isFine = found.kind === "ok" || (found.kind === "missing" && !hasAgents(home));
    if (isFine) return { found, repaired: false, kept: [] };
    if (found.kind === "newer") {
      throw new StoreNewerError(`The database has schema version ${found.version}, which this program does not know.`, {
        hint: "It is not broken: use the newer program. Nothing was changed.",
      });
    }
    if (found.kind === "no-room") refuseUnreadable(databasePath, found);
    if (found.kind === "unreadable") onProgress("Saving what can still be read into the plain files.");
    const salvaged = found.kind === "unreadable" ? trySalvage(options) : undefined;
    onProgress("Building a new database from the plain files.");
    const built = buildDatabase(options);
    const kept = moveAside(databasePath, options.now);
    built.install();
    return { found, repaired: true, kept, rebuilt: built.report, salvaged };
  } finally {
    lock.release();
  }
}

function trySalvage({ home, databasePath }: RepairOptions): SalvageReport {
  try {
    const copy = openSnapshot(databasePath);
    try {
      return salvage(copy.sql, diskFiles(home));
    } finally {
      copy.close();
    }
  } catch (error) {
    return { agents: 0, lines: 0, failed: [{ what: databasePath, reason: (error as Error).message }] };
  }
}

/** The database first: a log without its database is refused at the next start; a database without its log is not noticed. */
function moveAside(databasePath: string, now: number): readonly string[] {
  const time = new Date(now).toISOString().replaceAll(/[:.]/g, "-");
  return ["", "-wal", "-shm"].flatMap((suffix) => {
    const from = databasePath + suffix;
    if (!existsSync(from)) return [];
    const to = `${databasePath}.broken-${time}${suffix}`;
    renameSync(from, to);
    return [to];
  });
}

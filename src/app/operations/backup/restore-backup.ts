/**
 * Restores a backup into a home. The archive is unpacked and checked beside the home. Its open work ends: runs end `lost` with a
 * notice, deliveries become `unconfirmed`, unused yeses are withdrawn (M6). A person agrees to what the home starts, and only then the
 * home is replaced by renaming. The old home is kept under another name. A kill leaves the old home, or one that `finishRestore`
 * completes.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { diskFiles } from "../../../adapters/store/files/disk-files.ts";
import { endUnfinishedWork, type LostWork } from "../../../adapters/store/files/end-unfinished-work.ts";
import { PEOPLE_FILE } from "../../../adapters/store/files/file-format.ts";
import { forgetOldPeople } from "../../../adapters/store/files/people-file.ts";
import { withdrawAll } from "../../../adapters/store/sqlite/approvals.ts";
import { type Database, openDatabase } from "../../../adapters/store/sqlite/database.ts";
import { lockHome } from "../../../adapters/store/sqlite/home-lock.ts";
import { migrations } from "../../../adapters/store/sqlite/migrate.ts";
import { retireNodes } from "../../../adapters/store/sqlite/nodes.ts";
import { forgetReviews } from "../../../adapters/tools/mcp/pinned-tools.ts";
import { DIRECTORY_MODE, FILE_MODE, mcpDirectory, restoreMarker } from "../../../config/paths.ts";
import { InvalidInputError, StoreNewerError } from "../../../core/errors.ts";
import type { Ids } from "../../../core/ids.ts";
import { syncPath } from "./create-backup.ts";
import { DATABASE, type Manifest } from "./manifest.ts";
import { markFiles } from "./mark-files.ts";
import { readBackup } from "./read-backup.ts";
import { inspectSnapshot } from "./snapshot-store.ts";
import { startedPrograms } from "./started-programs.ts";

interface RestoreOptions {
  readonly file: string;
  readonly home: string;
  /** Whether a home that is in use may be replaced. It is kept under another name. */
  readonly replace?: boolean;
  readonly ids: Ids;
  readonly now: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asked with what the home of the backup starts, unless it starts nothing. Without a yes nothing is restored. */
  readonly mayStart: (programs: readonly string[]) => Promise<boolean>;
  /** Asked with the number of files of agents. Default: no, and they get the mark of untrusted text. */
  readonly mayTrust?: (files: number) => Promise<boolean>;
  /** How much the archive may be when it is unpacked. */
  readonly maxBytes?: number;
  readonly onProgress?: (text: string) => void;
}

interface RestoreReport {
  readonly home: string;
  readonly manifest: Manifest;
  /** The open work that was ended. */
  readonly lost: LostWork;
  /** Where the home that was there is now. */
  readonly kept: string | null;
  /** Links that lead out of the home or stand in for its own files. They were not made. */
  readonly refusedLinks: readonly string[];
  /** MCP servers whose tools count as not reviewed again. */
  readonly unreviewed: readonly string[];
  /** How many files of agents got the mark of untrusted text. */
  readonly marked: number;
}

export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const { file, home, replace = false, now, onProgress = () => {} } = options;
  finishRestore(home);
  const isUsed = existsSync(home) && readdirSync(home).length > 0;
  if (isUsed && !replace) {
    throw new InvalidInputError(`${home} is not empty.`, {
      hint: "Restore into another directory with --home, or add --replace: the home that is there is kept under another name.",
    });
  }
  // Held until the home is replaced: no engine starts on it.
  const lock = isUsed ? lockHome(home) : undefined;
  const staging = `${home}.restoring`;
  try {
    await rm(staging, { recursive: true, force: true });
    await mkdir(staging, { recursive: true, mode: DIRECTORY_MODE });
    onProgress("Unpacking and checking the archive.");
    const { manifest, refusedLinks } = await readBackup(file, { into: staging, maxBytes: options.maxBytes });
    refuseNewer(manifest);
    const lost = settle(staging, home, options);
    const unreviewed = forgetReviews(mcpDirectory({ home: staging }));
    await askToStart(staging, options);
    const marked = await markFiles(staging, manifest, options.mayTrust ?? (async () => false));
    await syncPath(staging);
    const kept = isUsed ? freeName(`${home}.before-restore-${stampOf(now)}`) : null;
    replaceHome({ home, staging, kept });
    return { home, manifest, lost, kept, refusedLinks, unreviewed, marked };
  } catch (error) {
    if (existsSync(home) || !existsSync(restoreMarker(home))) rmSync(staging, { recursive: true, force: true });
    throw error;
  } finally {
    lock?.release();
  }
}

async function askToStart(staging: string, { home, env, mayStart }: RestoreOptions): Promise<void> {
  const programs = await startedPrograms({ at: staging, home, env });
  if (programs.length === 0 || (await mayStart(programs))) return;
  throw new InvalidInputError("You did not agree to what this backup starts.", { hint: "Nothing was restored." });
}

const stampOf = (now: number): string => new Date(now).toISOString().replace(/[-:]/g, "").slice(0, 15);

/** A restore that was killed may have taken the name within the same second. */
function freeName(wanted: string): string {
  let name = wanted;
  for (let count = 2; existsSync(name); count++) name = `${wanted}-${count}`;
  return name;
}

function refuseNewer({ schema, version }: Manifest): void {
  const newest = migrations().at(-1)?.version ?? 0;
  if (schema <= newest) return;
  throw new StoreNewerError(
    `The backup was made by Rookery ${version} and has schema version ${schema}; this program knows ${newest}.`,
    {
      hint: "Install that version or a newer one, then restore. Nothing was changed.",
    },
  );
}

/** Ends the open work of the unpacked database, and gives no one a right back that was taken from them since. */
function settle(staging: string, home: string, { ids, now }: RestoreOptions): LostWork {
  const path = join(staging, DATABASE);
  inspectSnapshot(path);
  const db = openDatabase(path);
  try {
    // The engine that ran when the backup was made has nothing to say here.
    retireNodes(db);
    const lost = endUnfinishedWork(db, { ids, now, why: "the database was restored from a backup" });
    const people = restrictPeople(db, home, now);
    db.sql.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return people > 0 ? { ...lost, people } : lost;
  } finally {
    db.close();
  }
}

/**
 * A right that was taken back since the backup must not return: if the home that is replaced has a newer list of people, everyone
 * but the owner becomes a stranger. A yes that the backup holds as unused may have been used since.
 */
function restrictPeople(db: Database, home: string, now: number): number {
  if (existsSync(join(home, PEOPLE_FILE))) return forgetOldPeople(db, diskFiles(home), now);
  withdrawAll(db, now, "withdrawn: the database was restored from a backup", ["approved"]);
  return 0;
}

interface Swap {
  readonly home: string;
  readonly staging: string;
  readonly kept: string | null;
}

/** Between the two renames there is no home: the marker says so, and no engine makes an empty one. */
function replaceHome({ home, staging, kept }: Swap): void {
  if (kept === null) {
    if (existsSync(home)) rmSync(home, { recursive: true });
    renameSync(staging, home);
    return;
  }
  const marker = restoreMarker(home);
  writeFileSync(marker, `${JSON.stringify({ staging: basename(staging), kept: basename(kept) })}\n`, {
    mode: FILE_MODE,
    flush: true,
  });
  renameSync(home, kept);
  renameSync(staging, home);
  rmSync(marker);
}

/** Completes a restore that was killed between its renames. Does nothing otherwise. */
export function finishRestore(home: string): boolean {
  const marker = restoreMarker(home);
  if (!existsSync(marker)) return false;
  const { staging } = JSON.parse(readFileSync(marker, "utf8")) as { staging: string };
  const whole = join(dirname(home), basename(staging));
  const isBetween = !statSync(home, { throwIfNoEntry: false }) && existsSync(whole);
  if (isBetween) renameSync(whole, home);
  rmSync(marker);
  return isBetween;
}

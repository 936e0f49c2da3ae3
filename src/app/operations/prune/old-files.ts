/**
 * Files of a home that nothing needs any more after some time: copies from before a migration, databases and homes that were replaced,
 * agents set aside, rotated logs, leftovers of interrupted writes, and bytes of files that no row names. Found first, then removed.
 */
import { existsSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { backupDirectory, type HomePaths } from "../../../config/paths.ts";
import { blobsOf } from "../../../core/message/blobs-of.ts";
import type { StoreReader } from "../../../core/store/store.ts";

interface OldFile {
  readonly what: string;
  readonly path: string;
  readonly bytes: number;
}

interface Place {
  readonly what: string;
  readonly directory: (paths: HomePaths) => string;
  readonly isOld: (name: string, paths: HomePaths) => boolean;
  /** How many of the newest stay at any age. */
  readonly keep?: number;
}

/** Longer than any upload takes: bytes are there before the row that names them. */
const STAGED_MS = 2 * 24 * 3600_000;

const PLACES: readonly Place[] = [
  {
    what: "copies from before a migration",
    directory: backupDirectory,
    isOld: (name) => name.startsWith("before-schema-") && name.endsWith(".db"),
    keep: 1,
  },
  {
    what: "databases that were replaced",
    directory: ({ home }) => home,
    isOld: (name) => name.startsWith("rookery.db.broken-") || name.startsWith("rookery.db.before-restore-"),
  },
  {
    what: "homes that were replaced by a backup",
    directory: ({ home }) => dirname(home),
    isOld: (name, { home }) => name.startsWith(`${basename(home)}.before-restore-`),
  },
  { what: "agents set aside", directory: ({ home }) => join(home, "agents-aside"), isOld: () => true },
  { what: "rotated logs", directory: ({ logs }) => logs, isOld: (name) => name !== "rookery.log" },
  {
    what: "leftovers of interrupted writes",
    directory: ({ home }) => home,
    isOld: (name) => name.startsWith(".rookery-") || name.endsWith(".tmp"),
  },
];

export async function findOldFiles(
  { paths, store }: { readonly paths: HomePaths; readonly store: Pick<StoreReader, "files"> },
  { before, now }: { readonly before: number; readonly now: number },
): Promise<readonly OldFile[]> {
  const found: OldFile[] = [];
  for (const { what, directory, isOld, keep = 0 } of PLACES) {
    const at = directory(paths);
    const dated = await Promise.all(
      (await names(at)).filter((name) => isOld(name, paths)).map((name) => dateOf(join(at, name))),
    );
    const newestFirst = dated.toSorted((a, b) => b.changedAt - a.changedAt);
    for (const { path, changedAt } of newestFirst.slice(keep))
      if (changedAt < before) found.push({ what, path, bytes: await sizeOf(path) });
  }
  return [...found, ...(await orphans(paths, store, Math.min(before, now - STAGED_MS)))];
}

/** Bytes in `files/` that no row names. */
async function orphans(paths: HomePaths, store: Pick<StoreReader, "files">, before: number): Promise<OldFile[]> {
  const there = await names(paths.files);
  if (there.length === 0) return [];
  const used = new Set<string>();
  for (let after: string | undefined; ; ) {
    const page = await store.files({ limit: 500, after });
    for (const file of page) for (const blob of blobsOf(file)) used.add(blob);
    if (page.length < 500) break;
    after = page.at(-1)?.id;
  }
  const found: OldFile[] = [];
  for (const name of there.filter((one) => !used.has(one))) {
    const { path, changedAt } = await dateOf(join(paths.files, name));
    if (changedAt < before) found.push({ what: "bytes of files that nothing names", path, bytes: await sizeOf(path) });
  }
  return found;
}

export async function removeOldFiles(files: readonly OldFile[]): Promise<void> {
  for (const { path } of files) await rm(path, { recursive: true, force: true });
}

const names = async (directory: string): Promise<readonly string[]> =>
  existsSync(directory) ? readdir(directory) : [];

async function dateOf(path: string): Promise<{ path: string; changedAt: number }> {
  return { path, changedAt: (await lstat(path)).mtimeMs };
}

async function sizeOf(path: string): Promise<number> {
  const facts = await lstat(path);
  if (!facts.isDirectory()) return facts.size;
  let sum = 0;
  for (const name of await readdir(path)) sum += await sizeOf(join(path, name));
  return sum;
}

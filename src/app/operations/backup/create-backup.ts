/**
 * Makes a backup: one compressed archive with a snapshot of the database, the files it names, the workspaces and the settings. It is
 * written under another name, read back and compared, the database in it is opened, and only then it gets its name: a backup that
 * has its name is whole. Runs beside an engine.
 */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, existsSync, type Stats } from "node:fs";
import { lstat, mkdir, open, readdir, readlink, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createGzip } from "node:zlib";
import { readVersion } from "../../../adapters/system/version.ts";
import { DIRECTORY_MODE, FILE_MODE } from "../../../config/paths.ts";
import { InvalidInputError, InvariantError } from "../../../core/errors.ts";
import { isCopied } from "../data/home-parts.ts";
import { DATABASE, MANIFEST, type Manifest } from "./manifest.ts";
import { readBackup } from "./read-backup.ts";
import { inspectSnapshot, type SnapshotOptions, snapshotStore } from "./snapshot-store.ts";
import { TarWriter } from "./tar-write.ts";

interface BackupOptions extends SnapshotOptions {
  /** The file to write. It must not exist. */
  readonly file: string;
  /** Told about each step, for people who wait. */
  readonly onProgress?: (text: string) => void;
  readonly now?: number;
}

interface BackupReport {
  readonly file: string;
  readonly bytes: number;
  readonly manifest: Manifest;
}

type Listed = Manifest["files"][number];

/** Rejects and leaves nothing behind if anything differs when it is read back. */
export async function createBackup(options: BackupOptions): Promise<BackupReport> {
  const { file, onProgress = () => {}, now = Date.now() } = options;
  if (existsSync(file)) {
    throw new InvalidInputError(`${file} exists already.`, { hint: "Name another file. Nothing was changed." });
  }
  const directory = dirname(file);
  await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
  await removeLeftovers(directory);
  const staging = join(directory, `${STAGING}${process.pid}-${randomBytes(4).toString("hex")}`);
  await mkdir(staging, { mode: DIRECTORY_MODE });
  try {
    onProgress("Reading the database.");
    const database = join(staging, DATABASE);
    const snapshotAt = Date.now();
    const snapshot = await snapshotStore(options, database);
    try {
      const facts = inspectSnapshot(database);
      onProgress("Writing the archive.");
      const archive = join(staging, "archive");
      const out = await archiveFile(archive);
      const { files, missing } = await writeContent(options, out.tar, {
        database,
        blobs: facts.blobs,
        from: snapshot.blobs,
      });
      const { schema, rows } = facts;
      const manifest: Manifest = {
        ...{ format: 1, version: readVersion(), schema, createdAt: now, snapshotAt, store: snapshot.store },
        ...{ rows: { ...rows }, files, missing },
      };
      const text = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
      await out.tar.file({ path: MANIFEST, mode: FILE_MODE, modifiedAt: now }, text.length, once(text));
      await out.tar.end();
      await out.close();
      onProgress("Reading it back.");
      await verify(archive, manifest, join(staging, "check"));
      await rename(archive, file);
      await syncPath(directory);
      return { file, bytes: (await lstat(file)).size, manifest };
    } finally {
      await snapshot.close();
    }
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

const STAGING = ".rookery-backup-";

/** What a killed backup left: its process is gone. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = name.startsWith(STAGING) ? Number(name.slice(STAGING.length).split("-")[0]) : 0;
    if (pid > 0 && !isAlive(pid)) await rm(join(directory, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** A compressed archive that is on the disk after `close`. */
async function archiveFile(path: string) {
  const handle = await open(path, "wx", FILE_MODE);
  const gzip = createGzip({ level: 6 });
  const written = (async () => {
    for await (const chunk of gzip) await handle.writeFile(chunk as Buffer);
    await handle.sync();
  })();
  // An error is thrown by `close`, or by the write that waits for it.
  written.catch(() => gzip.destroy());
  const tar = new TarWriter(async (chunk) => {
    if (chunk.length === 0) return;
    if (gzip.destroyed) await written;
    if (gzip.write(chunk)) return;
    await Promise.race([new Promise((resolve) => gzip.once("drain", resolve)), written]);
  });
  return {
    tar,
    async close() {
      gzip.end();
      await written.finally(() => handle.close());
    },
  };
}

interface Content {
  readonly database: string;
  readonly blobs: readonly string[];
  readonly from?: { read(path: string): Promise<Uint8Array | undefined>; pathOf(name: string): string };
}

async function writeContent(
  { paths: { home, files: blobDirectory } }: BackupOptions,
  tar: TarWriter,
  { database, blobs, from }: Content,
) {
  const files: Listed[] = [await addFile(tar, database, DATABASE)];
  const missing: string[] = [];
  for (const blob of blobs) {
    const path = `${basename(blobDirectory)}/${blob}`;
    const added = from
      ? await addBytes(tar, await from.read(from.pathOf(blob)), path)
      : await addFile(tar, join(blobDirectory, blob), path).catch(ifMissing);
    if (added) files.push(added);
    else missing.push(path);
  }
  for (const name of (await readdir(home)).sort()) {
    // The blobs that the database names are in the archive already; others belong to uploads under way.
    if (name !== basename(blobDirectory) && isCopied(name)) await addTree(tar, home, name, files);
  }
  return { files, missing };
}

async function addTree(tar: TarWriter, home: string, path: string, files: Listed[]): Promise<void> {
  const from = join(home, path);
  const stat = await lstat(from).catch(ifMissing);
  if (!stat) return;
  const header = { path, mode: stat.mode, modifiedAt: stat.mtimeMs };
  if (stat.isSymbolicLink()) return tar.link(header, await readlink(from));
  if (stat.isDirectory()) {
    await tar.directory(header);
    for (const name of (await readdir(from)).sort()) await addTree(tar, home, `${path}/${name}`, files);
    return;
  }
  // A socket or a device cannot be copied.
  if (!stat.isFile()) return;
  const added = await addFile(tar, from, path).catch(ifMissing);
  if (added) files.push(added);
}

const ifMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== "ENOENT") throw error;
  return undefined;
};

/** As many bytes as the file has when it is opened, even if it grows. */
async function addFile(tar: TarWriter, from: string, path: string): Promise<Listed> {
  const handle = await open(from, "r");
  try {
    const { size, mode, mtimeMs }: Stats = await handle.stat();
    const hash = createHash("sha256");
    const content = async function* (): AsyncGenerator<Buffer> {
      if (size === 0) return;
      const stream = createReadStream("", { fd: handle.fd, autoClose: false, start: 0, end: size - 1 });
      let left = size;
      for await (const chunk of stream) {
        left -= (chunk as Buffer).length;
        hash.update(chunk as Buffer);
        yield chunk as Buffer;
      }
      // It became shorter while it was read: the rest is zeros, and the next backup has it right.
      if (left > 0) {
        const rest = Buffer.alloc(left);
        hash.update(rest);
        yield rest;
      }
    };
    await tar.file({ path, mode, modifiedAt: mtimeMs }, size, content());
    return { path, size, sha256: hash.digest("hex") };
  } finally {
    await handle.close();
  }
}

async function addBytes(tar: TarWriter, bytes: Uint8Array | undefined, path: string): Promise<Listed | undefined> {
  if (!bytes) return undefined;
  const content = Buffer.from(bytes);
  await tar.file({ path, mode: FILE_MODE, modifiedAt: 0 }, content.length, once(content));
  return { path, size: content.length, sha256: createHash("sha256").update(content).digest("hex") };
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  if (content.length > 0) yield content;
}

/** Reads the archive as a restore would, and opens the database in it. */
async function verify(archive: string, manifest: Manifest, directory: string): Promise<void> {
  await mkdir(directory, { mode: DIRECTORY_MODE });
  const only = (path: string): boolean => path === DATABASE;
  const { manifest: found } = await readBackup(archive, { into: directory, only, maxBytes: Number.POSITIVE_INFINITY });
  const facts = inspectSnapshot(join(directory, DATABASE));
  const isSame =
    JSON.stringify(found.files) === JSON.stringify(manifest.files) &&
    JSON.stringify(facts.rows) === JSON.stringify(manifest.rows);
  if (!isSame) throw new InvariantError("The backup reads back different from what was written. It was removed.");
}

export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

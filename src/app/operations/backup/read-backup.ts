/**
 * Reads a backup whole: each entry is written below a directory, or only compared, and everything must match the manifest at the
 * end. The archive may be from anyone: a name that leads out of the directory or through a link is refused, and so is a part of the
 * home that no backup has. Links that leave the home are not made.
 */
import { createHash } from "node:crypto";
import { createReadStream, type ReadStream } from "node:fs";
import { mkdir, open, realpath, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createGunzip } from "node:zlib";
import { DIRECTORY_MODE } from "../../../config/paths.ts";
import { CorruptDataError, InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { isCopied } from "../data/home-parts.ts";
import { sizeText } from "../size-text.ts";
import { sortLinks } from "./archive-links.ts";
import { DATABASE, MANIFEST, type Manifest, manifestSchema } from "./manifest.ts";
import { readTar, type TarEntry } from "./tar-read.ts";

interface ReadOptions {
  /** Where its entries are written. Absent: they are only compared. */
  readonly into?: string;
  readonly only?: (path: string) => boolean;
  /** How much it may be when it is unpacked. Default: `unpackedLimit`. */
  readonly maxBytes?: number;
}

interface ReadBackup {
  readonly manifest: Manifest;
  /** The links that were not made. */
  readonly refusedLinks: readonly string[];
}

/** A backup of real conversations and files is a tenth of them; what becomes a hundred times larger was made to fill a disk. */
const MAX_RATIO = 100;
const ALWAYS_ALLOWED = 256 * 1_024 * 1_024;
const unpackedLimit = (packed: number): number => Math.max(ALWAYS_ALLOWED, MAX_RATIO * packed);

const MAX_MANIFEST = 256 * 1_024 * 1_024;
const MAX_PATH = 4_096;
const MAX_ENTRIES = 5_000_000;

/** Rejects with `CorruptDataError` if anything is missing, added or changed. The caller removes the files that it has written. */
export async function readBackup(
  file: string,
  { into, only = () => true, maxBytes }: ReadOptions = {},
): Promise<ReadBackup> {
  const found = new Map<string, { readonly size: number; readonly sha256: string }>();
  const links = new Map<string, string>();
  let manifest: Manifest | undefined;
  let count = 0;
  for await (const entry of readTar(unpacked(file, maxBytes))) {
    count += 1;
    if (manifest || count > MAX_ENTRIES) throw damaged("there is something behind its end");
    const { path, type, target } = entry;
    if (path === MANIFEST) {
      manifest = await readManifest(entry);
      continue;
    }
    refuseName(path, links);
    const to = into !== undefined && only(path) ? join(into, path) : undefined;
    if (type === "link") links.set(path, target);
    else if (type === "directory") {
      if (to !== undefined) await mkdir(to, { recursive: true, mode: DIRECTORY_MODE });
    } else {
      if (found.has(path)) throw damaged(`${path} is there twice`);
      found.set(path, await takeFile(entry, to));
    }
  }
  if (!manifest) throw damaged("it has no manifest");
  compare(manifest, found);
  const { made, refused } = sortLinks(links);
  if (into !== undefined) await makeLinks(into, new Map([...made].filter(([path]) => only(path))));
  return { manifest, refusedLinks: refused };
}

/** Last: nothing is ever written through them. */
async function makeLinks(into: string, links: ReadonlyMap<string, string>): Promise<void> {
  const root = await realpath(into);
  for (const [path, target] of links) {
    const directory = dirname(join(root, path));
    await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    // On a disk that makes no difference between `a` and `A`, another link may be on the way.
    if ((await realpath(directory)) !== directory) throw damaged(`${path} leads through a link`);
    await symlink(target, join(root, path)).catch((cause: NodeJS.ErrnoException) => {
      throw cause.code === "EEXIST" ? damaged(`${path} is there twice`) : cause;
    });
  }
}

async function* unpacked(file: string, maxBytes?: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  let source: ReadStream | undefined;
  try {
    const limit = maxBytes ?? unpackedLimit((await stat(file)).size);
    const gunzip = createGunzip();
    // Not earlier: its error would have no reader while the size is asked for.
    source = createReadStream(file).on("error", (error) => gunzip.destroy(error));
    for await (const chunk of source.pipe(gunzip)) {
      bytes += (chunk as Buffer).length;
      if (bytes > limit) throw tooLarge(limit);
      yield chunk as Buffer;
    }
  } catch (cause) {
    if (cause instanceof InvalidInputError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") {
      throw new NotFoundError(`There is no backup ${file}.`, {
        cause,
        hint: "Backups are in the directory backups of a home.",
      });
    }
    if (code === "EACCES" || code === "EISDIR") {
      throw new InvalidInputError(`The backup ${file} cannot be read: ${message}.`, { cause });
    }
    throw new CorruptDataError(`The archive is damaged: ${message}.`, { cause, hint: HINT });
  } finally {
    source?.destroy();
  }
}

const tooLarge = (limit: number): InvalidInputError =>
  new InvalidInputError(`The archive becomes larger than ${sizeText(limit)} when it is unpacked.`, {
    hint: "If you know that it is this large, allow it with --max-size GB. Nothing was changed.",
  });

const HINT = "Use another backup. Nothing was changed.";
const damaged = (reason: string): CorruptDataError =>
  new CorruptDataError(`The archive is damaged: ${reason}.`, { hint: HINT });

async function readManifest(entry: TarEntry): Promise<Manifest> {
  if (entry.size > MAX_MANIFEST) throw damaged("its manifest is too large");
  const chunks: Buffer[] = [];
  for await (const chunk of entry.content()) chunks.push(chunk);
  try {
    return manifestSchema.parse(JSON.parse(Buffer.concat(chunks).toString("utf8")));
  } catch (cause) {
    throw new CorruptDataError("The manifest of the archive cannot be read.", { cause, hint: HINT });
  }
}

function refuseName(path: string, links: ReadonlyMap<string, string>): void {
  if (path.length > MAX_PATH) throw damaged("a name is too long");
  const parts = path.split("/");
  const isOutside =
    path === "" ||
    path.startsWith("/") ||
    path.includes("\0") ||
    parts.some((part) => part === "" || part === "." || part === "..");
  if (isOutside) throw damaged(`it has the name ${JSON.stringify(path.slice(0, 200))}`);
  const [part = ""] = parts;
  if (part !== DATABASE && !isCopied(part)) throw damaged(`it has ${JSON.stringify(part)}, which no backup contains`);
  if (parts.some((_, index) => links.has(parts.slice(0, index + 1).join("/")))) {
    throw damaged(`${path} leads through a link`);
  }
}

async function takeFile(entry: TarEntry, to: string | undefined) {
  const hash = createHash("sha256");
  if (to === undefined) {
    for await (const chunk of entry.content()) hash.update(chunk);
    return { size: entry.size, sha256: hash.digest("hex") };
  }
  await mkdir(dirname(to), { recursive: true, mode: DIRECTORY_MODE });
  // Files of others' archives never get more than their owner's rights.
  const handle = await open(to, "wx", entry.mode & 0o700);
  try {
    for await (const chunk of entry.content()) {
      hash.update(chunk);
      await handle.writeFile(chunk);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { size: entry.size, sha256: hash.digest("hex") };
}

function compare(
  { files }: Manifest,
  found: ReadonlyMap<string, { readonly size: number; readonly sha256: string }>,
): void {
  if (files.length !== found.size) throw damaged(`it has ${found.size} files instead of ${files.length}`);
  for (const { path, size, sha256 } of files) {
    const there = found.get(path);
    if (there?.size !== size || there.sha256 !== sha256) throw damaged(`${path} was changed`);
  }
}

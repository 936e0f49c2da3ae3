/**
 * Reads a tar archive from outside into memory, compressed with gzip or not. Every name is checked, and count and size are bounded
 * while it is unpacked, so a small file cannot become a large one. Links and devices are only listed.
 */
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { checkPath, refused } from "../../../adapters/workspace/skills/skill-bundle.ts";
import { CorruptDataError, InvalidInputError } from "../../../core/errors.ts";
import { readTar } from "../backup/tar-read.ts";
import type { SourceTree } from "./source-tree.ts";

const MAX_ENTRIES = 5_000;
/** Packed and unpacked. */
const MAX_BYTES = 32 * 1024 * 1024;

export async function readArchive(file: string): Promise<SourceTree> {
  const { size } = await stat(file);
  if (size > MAX_BYTES) throw refused("the archive is larger than 32 MB");
  const raw = createReadStream(file);
  const stream = (await isGzip(file)) ? pipeline(raw, createGunzip(), () => {}) : raw;
  return readEntries(stream);
}

async function isGzip(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}

/** Throws `InvalidInputError`. The stream is ended then. */
export async function readEntries(stream: Readable): Promise<SourceTree> {
  const files = new Map<string, Buffer>();
  const odd = new Map<string, string>();
  let entries = 0;
  try {
    for await (const entry of readTar(bounded(stream), { others: true })) {
      if (++entries > MAX_ENTRIES) throw refused(`the archive has more than ${MAX_ENTRIES} entries`);
      const path = entry.path.replace(/^(?:\.\/)+/, "");
      if (entry.type === "directory" && (path === "" || path === ".")) continue;
      if (path.split("/").includes(".git")) continue;
      checkPath(path);
      if (entry.type === "directory") continue;
      if (files.has(path) || odd.has(path)) throw refused(`the archive has ${JSON.stringify(path)} twice`);
      if (entry.type !== "file") odd.set(path, entry.type === "link" ? "a link" : "no regular file");
      else files.set(path, await whole(entry.content()));
    }
  } catch (error) {
    throw explained(error);
  } finally {
    stream.destroy();
  }
  const sizes = new Map([...files].map(([path, bytes]) => [path, bytes.length]));
  return { sizes, odd, read: async (path) => files.get(path) ?? Buffer.alloc(0) };
}

async function whole(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

async function* bounded(stream: Readable): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw refused("the archive is larger than 32 MB when it is unpacked");
    yield chunk;
  }
}

function explained(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (!(error instanceof CorruptDataError) && !code?.startsWith("Z_")) return error;
  return new InvalidInputError(`${(error as Error).message.replace(/\.$/, "")}.`, {
    cause: error,
    hint: "Skills are installed from a directory, a .tar or .tar.gz file, or a git repository. Nothing was changed.",
  });
}

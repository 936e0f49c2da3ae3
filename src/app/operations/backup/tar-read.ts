/**
 * Reads a tar archive as a stream. Everything in it is from outside: sizes and names are checked, records are bounded, and a damaged
 * or cut archive is an error. The caller decides where a name may lead.
 */
import { CorruptDataError } from "../../../core/errors.ts";

const BLOCK = 512;
const MAX_RECORDS = 64 * 1_024;

export interface TarEntry {
  readonly path: string;
  /** `other`: a hard link, a device, a pipe. */
  readonly type: "file" | "directory" | "link" | "other";
  readonly mode: number;
  readonly size: number;
  /** Of a link. */
  readonly target: string;
  /** The content. Read it before the next entry; what is left is skipped. */
  content(): AsyncGenerator<Buffer>;
}

interface TarReading {
  /** Yields entries of other types too. Default: they are an error. */
  readonly others?: boolean;
}

export async function* readTar(
  chunks: AsyncIterable<Buffer>,
  { others = false }: TarReading = {},
): AsyncGenerator<TarEntry> {
  const source = new ByteSource(chunks);
  let records: ReadonlyMap<string, string> = new Map();
  for (;;) {
    const block = await source.take(BLOCK);
    if (block.every((byte) => byte === 0)) {
      // To its last byte: the sum of a compressed file is behind the archive.
      await source.end();
      return;
    }
    const head = readHeader(block);
    const size = Number(records.get("size") ?? head.size);
    if (!Number.isSafeInteger(size) || size < 0) throw damaged("an entry has no size");
    if (head.type in RECORDS) {
      if (size > MAX_RECORDS) throw damaged("a name is too long");
      const body = await source.take(size);
      await source.skip(padded(size) - size);
      // `g` is about the whole archive, such as the commit that `git archive` names.
      if (head.type === "x") records = readRecords(body);
      if (head.type === "L") records = new Map([...records, ["path", untilZero(body)]]);
      continue;
    }
    let left = size;
    const content = async function* (): AsyncGenerator<Buffer> {
      while (left > 0) {
        const chunk = await source.some(left);
        left -= chunk.length;
        yield chunk;
      }
    };
    const type = TYPES[head.type] ?? (others ? "other" : undefined);
    if (type === undefined) throw damaged(`an entry has the unknown type ${JSON.stringify(head.type)}`);
    const path = (records.get("path") ?? head.path).replace(/\/$/, "");
    yield { path, type, mode: head.mode, size, target: records.get("linkpath") ?? head.target, content };
    await source.skip(left + padded(size) - size);
    records = new Map();
  }
}

const TYPES: Readonly<Record<string, TarEntry["type"]>> = { "0": "file", "\0": "file", "5": "directory", "2": "link" };

/** Entries that are about the next one: pax records, and the long names of GNU tar. */
const RECORDS = { x: true, g: true, L: true, K: true };

const untilZero = (body: Buffer): string => body.toString("utf8", 0, body.includes(0) ? body.indexOf(0) : body.length);

const padded = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

const damaged = (reason: string): CorruptDataError =>
  new CorruptDataError(`The archive is damaged: ${reason}.`, { hint: "Use another one. Nothing was changed." });

function readHeader(block: Buffer) {
  const text = (at: number, width: number): string => {
    const end = block.indexOf(0, at);
    return block.toString("utf8", at, end === -1 || end > at + width ? at + width : end);
  };
  const octal = (at: number, width: number): number => {
    const digits = text(at, width).trim();
    if (!/^[0-7]*$/.test(digits)) throw damaged("a header has a wrong number");
    return digits === "" ? 0 : Number.parseInt(digits, 8);
  };
  const stored = octal(148, 8);
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (sum !== stored) throw damaged("a header has a wrong checksum");
  const prefix = block.toString("latin1", 257, 263) === "ustar\0" ? text(345, 155) : "";
  return {
    path: prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`,
    mode: octal(100, 8),
    size: octal(124, 12),
    type: block.toString("latin1", 156, 157),
    target: text(157, 100),
  };
}

function readRecords(body: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(0x20, at);
    const length = space === -1 ? 0 : Number(body.toString("latin1", at, space));
    if (!Number.isSafeInteger(length) || length <= 0 || at + length > body.length || body[at + length - 1] !== 0x0a) {
      throw damaged("a record is not complete");
    }
    const [name = "", ...value] = body.toString("utf8", space + 1, at + length - 1).split("=");
    records.set(name, value.join("="));
    at += length;
  }
  return records;
}

/** Chunks of any size as exact portions. */
class ByteSource {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** At least one byte and at most `most`. */
  async some(most: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#chunks.next();
      if (done) throw damaged("it ends too early");
      this.#rest = value;
    }
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  async take(size: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = size; left > 0; ) {
      const part = await this.some(left);
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  async end(): Promise<void> {
    for (;;) {
      if (this.#rest.some((byte) => byte !== 0)) throw damaged("there is something behind its end");
      const { value, done } = await this.#chunks.next();
      if (done) return;
      this.#rest = value;
    }
  }

  async skip(size: number): Promise<void> {
    for (let left = size; left > 0; ) left -= (await this.some(left)).length;
  }
}

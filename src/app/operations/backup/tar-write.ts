/** Writes a tar archive (ustar, with pax records for long names and large files), one entry after the other. Other tools can read it. */
import { InvariantError } from "../../../core/errors.ts";

const BLOCK = 512;
/** What fits into the fields of a ustar header. */
const MAX_NAME = 100;
const MAX_SIZE = 8 ** 11 - 1;

interface TarHeader {
  /** Relative, with slashes. */
  readonly path: string;
  readonly mode: number;
  /** Milliseconds. */
  readonly modifiedAt: number;
}

export class TarWriter {
  readonly #write: (chunk: Buffer) => Promise<void>;

  constructor(write: (chunk: Buffer) => Promise<void>) {
    this.#write = write;
  }

  /** Rejects if the content has another size than `size`. */
  async file(header: TarHeader, size: number, content: AsyncIterable<Buffer>): Promise<void> {
    await this.#head(header, { type: "0", size });
    let written = 0;
    for await (const chunk of content) {
      written += chunk.length;
      if (written > size) break;
      await this.#write(chunk);
    }
    if (written !== size) throw new InvariantError(`${header.path} has ${written} bytes instead of ${size}.`);
    await this.#write(padding(size));
  }

  async directory(header: TarHeader): Promise<void> {
    await this.#head({ ...header, path: `${header.path}/` }, { type: "5", size: 0 });
  }

  async link(header: TarHeader, target: string): Promise<void> {
    await this.#head(header, { type: "2", size: 0, target });
  }

  async end(): Promise<void> {
    await this.#write(Buffer.alloc(2 * BLOCK));
  }

  async #head(header: TarHeader, { type, size, target = "" }: { type: string; size: number; target?: string }) {
    const records = [
      ...(needsRecord(header.path) ? [record("path", header.path)] : []),
      ...(needsRecord(target) ? [record("linkpath", target)] : []),
      ...(size > MAX_SIZE ? [record("size", String(size))] : []),
    ];
    if (records.length > 0) {
      const body = Buffer.concat(records);
      await this.#write(headerBlock({ ...header, path: "pax" }, { type: "x", size: body.length, target: "" }));
      await this.#write(Buffer.concat([body, padding(body.length)]));
    }
    await this.#write(headerBlock(header, { type, size, target }));
  }
}

const needsRecord = (text: string): boolean => Buffer.byteLength(text) > MAX_NAME || /[^ -~]/.test(text);

const padding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** `LENGTH name=value\n`, where the length counts itself. */
function record(name: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${name}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length = rest + String(length).length;
  return Buffer.from(`${length} ${name}=${value}\n`);
}

function headerBlock(
  header: TarHeader,
  { type, size, target }: { type: string; size: number; target: string },
): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, width: number): void => {
    block.write(`${value.toString(8).padStart(width - 1, "0")}\0`, at, width, "latin1");
  };
  Buffer.from(header.path).copy(block, 0, 0, MAX_NAME);
  octal(header.mode & 0o7777, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size > MAX_SIZE ? 0 : size, 124, 12);
  octal(Math.max(0, Math.floor(header.modifiedAt / 1_000)), 136, 12);
  block.write(" ".repeat(8), 148, 8, "latin1");
  block.write(type, 156, 1, "latin1");
  Buffer.from(target).copy(block, 157, 0, MAX_NAME);
  block.write("ustar\x0000", 257, 8, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8, "latin1");
  return block;
}

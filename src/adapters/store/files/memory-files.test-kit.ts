/**
 * The plain files in memory, for tests: a test can make any call crash before or after it happened or tear what it
 * writes, and can simulate a power loss, which loses, keeps or tears writes that were not flushed.
 */
import { dirname } from "node:path/posix";
import type { MirrorFiles } from "./mirror-files.ts";

/** The simulated end of the process. */
export class Crash extends Error {}

/** How a call fails: before its change, after it, or with a torn write. */
export type Fault = "before" | "after" | "torn";

interface Inode {
  readonly dir: boolean;
  data: Buffer;
  /** What is certainly on the disk. */
  onDisk: Buffer;
}

const inode = (dir: boolean): Inode => ({ dir, data: Buffer.alloc(0), onDisk: Buffer.alloc(0) });

export class MemoryFiles implements MirrorFiles {
  /** Calls that change something, so far. */
  calls = 0;
  /** The call that crashes, counted from 1, and how. */
  fault: { readonly call: number; readonly how: Fault } | undefined;
  #names = new Map<string, Inode>([[".", inode(true)]]);
  #namesOnDisk = new Map(this.#names);

  read(path: string): Buffer | undefined {
    const found = this.#names.get(path);
    return found && !found.dir ? Buffer.from(found.data) : undefined;
  }

  text(path: string): string | undefined {
    return this.read(path)?.toString();
  }

  readAt(path: string, offset: number, length: number): Buffer {
    return Buffer.from(this.#file(path).data.subarray(offset, offset + length));
  }

  size(path: string): number | undefined {
    return this.#names.get(path)?.data.length;
  }

  list(path: string): readonly string[] {
    return [...this.#names.keys()]
      .filter((name) => name !== "." && dirname(name) === path)
      .map((name) => name.slice(path === "." ? 0 : path.length + 1))
      .sort();
  }

  /** The paths of all files. */
  paths(): readonly string[] {
    return [...this.#names]
      .filter(([, found]) => !found.dir)
      .map(([name]) => name)
      .sort();
  }

  append(path: string, data: string | Buffer): void {
    const bytes = Buffer.from(data);
    this.#call((part) => {
      const file = this.#names.get(path) ?? this.#create(path);
      file.data = Buffer.concat([file.data, bytes.subarray(0, Math.floor(bytes.length * part))]);
    });
  }

  replace(path: string, data: string | Buffer): void {
    this.#call((part) => {
      // Torn: the temporary file stays behind, the old one is untouched.
      const file = this.#create(part < 1 ? `${path}.torn-${this.calls}.tmp` : path);
      file.data = Buffer.from(data);
    });
  }

  truncate(path: string, size: number): void {
    this.#call(() => {
      const file = this.#file(path);
      file.data = Buffer.from(file.data.subarray(0, size));
    });
  }

  move(from: string, to: string): void {
    this.#call((part) => {
      if (part < 1) return;
      for (const [name, found] of [...this.#names]) {
        if (name !== from && !name.startsWith(`${from}/`)) continue;
        this.#names.delete(name);
        this.#names.set(to + name.slice(from.length), found);
      }
    });
  }

  /** Torn: some of what is in it is gone. */
  remove(path: string): void {
    this.#call((part) => {
      const inside = [...this.#names.keys()].filter((name) => name === path || name.startsWith(`${path}/`)).reverse();
      for (const name of inside.slice(0, Math.ceil(inside.length * part))) this.#names.delete(name);
    });
  }

  makeDir(path: string): void {
    this.#call(() => {
      for (let dir = path; !this.#names.has(dir); dir = dirname(dir)) this.#names.set(dir, inode(true));
    });
  }

  sync(path: string): void {
    this.#call((part) => {
      const found = this.#names.get(path);
      if (!found || part < 1) return;
      if (!found.dir) {
        found.onDisk = found.data;
        return;
      }
      const below = (name: string): boolean => name !== "." && dirname(name) === path;
      for (const name of [...this.#namesOnDisk.keys()]) if (below(name)) this.#namesOnDisk.delete(name);
      for (const [name, child] of this.#names) if (below(name)) this.#namesOnDisk.set(name, child);
    });
  }

  /** Changes a file without the mirror. */
  put(path: string, data: string): void {
    (this.#names.get(path) ?? this.#create(path)).data = Buffer.from(data);
  }

  /** The same files, which change by themselves. */
  copy(): MemoryFiles {
    const same = new MemoryFiles();
    same.#names = new Map([...this.#names].map(([name, found]) => [name, { ...found }]));
    same.#namesOnDisk = new Map(same.#names);
    return same;
  }

  /** The files after a power loss: for each name and each file the disk's version, the newer one, or a torn one. */
  afterPowerLoss(random: () => number): MemoryFiles {
    const left = new MemoryFiles();
    left.#names = new Map();
    for (const name of new Set([...this.#namesOnDisk.keys(), ...this.#names.keys()])) {
      const found = (random() < 0.5 ? this.#namesOnDisk : this.#names).get(name) ?? undefined;
      if (found) left.#names.set(name, { dir: found.dir, ...survivor(found, random) });
    }
    left.#names.set(".", inode(true));
    for (const name of [...left.#names.keys()]) if (!left.#reachable(name)) left.#names.delete(name);
    left.#namesOnDisk = new Map(left.#names);
    return left;
  }

  #reachable(name: string): boolean {
    for (let dir = name; dir !== "."; dir = dirname(dir)) if (!this.#names.has(dir)) return false;
    return true;
  }

  #file(path: string): Inode {
    const found = this.#names.get(path);
    if (found && !found.dir) return found;
    throw Object.assign(new Error(`ENOENT: no such file, '${path}'`), { code: "ENOENT" });
  }

  #create(path: string): Inode {
    if (!this.#names.get(dirname(path))?.dir) {
      throw Object.assign(new Error(`ENOENT: no such directory, '${dirname(path)}'`), { code: "ENOENT" });
    }
    const file = inode(false);
    this.#names.set(path, file);
    return file;
  }

  #call(act: (part: number) => void): void {
    this.calls += 1;
    const how = this.fault?.call === this.calls ? this.fault.how : undefined;
    if (how === "before") throw new Crash(`before call ${this.calls}`);
    act(how === "torn" ? 0.5 : 1);
    if (how) throw new Crash(`${how} call ${this.calls}`);
  }
}

function survivor(found: Inode, random: () => number): { data: Buffer; onDisk: Buffer } {
  const choice = random();
  let data = found.onDisk;
  if (choice < 0.4) data = found.data;
  else if (choice < 0.7 && found.data.length > found.onDisk.length) {
    const grown = found.data.length - found.onDisk.length;
    const cut = found.onDisk.length + Math.floor(random() * grown);
    // The rest is missing, or its space holds zeros up to the end or up to the data written after it.
    const zeros = random() < 0.4 ? 0 : found.data.length - cut;
    const written = random() < 0.5 ? 0 : Math.floor(random() * zeros);
    data = Buffer.concat([
      found.data.subarray(0, cut),
      Buffer.alloc(zeros - written),
      found.data.subarray(found.data.length - written),
    ]);
  }
  return { data, onDisk: data };
}

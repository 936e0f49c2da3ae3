/**
 * The disk after a power loss: flushed data is there; every other write may be lost, kept or torn between
 * sectors, and names that no flush covers are there up to some moment (a file system's journal keeps their order).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Random } from "../../kit/random.ts";
import { type DataEvent, type DiskEvents, type NameEvent, parentOf } from "./disk-events.ts";

const SECTOR = 512;

/** What happens to unflushed writes. */
export type Fate = "lost" | "kept" | "mixed";

/** Writes the files of `home` as a power loss at line `cut` may leave them. */
export function writeImage(
  events: DiskEvents,
  home: string,
  cut: number,
  fate: Fate,
  random: Random,
  into: string,
): void {
  const done = events.syncs.filter((sync) => sync.ended < cut);
  const covered = (of: number | string, ended: number): boolean =>
    done.some((sync) => sync.of === of && sync.begun > ended);

  const contents = emptyFiles(events);
  for (const event of events.data) {
    const content = contents.get(event.file);
    if (event.begun >= cut || !content) continue;
    if (fate === "kept" || covered(event.file, event.ended)) apply(content, event);
    else if (fate === "mixed") applyByChance(content, event, random);
  }

  const names = new Map<string, number>();
  mkdirSync(into, { recursive: true });
  const open = events.names.filter((event) => event.begun < cut);
  // Names that were not flushed: kept up to here.
  const kept = fate === "lost" ? 0 : fate === "kept" ? open.length : random.int(0, open.length);
  for (const [index, event] of open.entries()) {
    if (index < kept || isNameCovered(event, covered)) applyName(names, event);
  }
  for (const [path, file] of names) {
    const target = join(into, relative(home, path));
    mkdirSync(dirname(target), { recursive: true });
    const content = contents.get(file);
    writeFileSync(target, content ? content.bytes.subarray(0, content.size) : "");
  }
}

/** A folder's flush covers its names; a file's own flush covers that it was made. */
function isNameCovered(event: NameEvent, covered: (of: number | string, ended: number) => boolean): boolean {
  if (event.what === "create" && covered(event.file, event.ended)) return true;
  return covered(parentOf(event.path), event.ended);
}

function applyName(names: Map<string, number>, event: NameEvent): void {
  if (event.what === "create") names.set(event.path, event.file);
  if (event.what === "remove") names.delete(event.path);
  if (event.what === "rename") {
    const file = names.get(event.path);
    if (file === undefined) return;
    names.delete(event.path);
    names.set(event.to, file);
  }
}

interface Content {
  /** As long as the file ever was; zeros beyond `size`. */
  readonly bytes: Buffer;
  size: number;
}

function emptyFiles({ data }: DiskEvents): Map<number, Content> {
  const longest = new Map<number, number>();
  for (const event of data) {
    const end = event.what === "write" ? event.offset + event.data.length : event.size;
    longest.set(event.file, Math.max(longest.get(event.file) ?? 0, end));
  }
  return new Map([...longest].map(([file, length]) => [file, { bytes: Buffer.alloc(length), size: 0 }]));
}

function apply(content: Content, event: DataEvent): void {
  if (event.what === "truncate") {
    content.bytes.fill(0, event.size);
    content.size = event.size;
    return;
  }
  event.data.copy(content.bytes, event.offset);
  content.size = Math.max(content.size, event.offset + event.data.length);
}

/** Lost, kept, or torn: then each sector of the disk is the old one or the new one. */
function applyByChance(content: Content, event: DataEvent, random: Random): void {
  const roll = random.int(0, 2);
  if (roll === 0) return;
  if (roll === 1 || event.what === "truncate") {
    apply(content, event);
    return;
  }
  const before = Buffer.from(content.bytes.subarray(event.offset, event.offset + event.data.length));
  apply(content, event);
  for (let at = event.offset - (event.offset % SECTOR); at < event.offset + event.data.length; at += SECTOR) {
    if (random.chance(0.5)) continue;
    const from = Math.max(0, at - event.offset);
    before.copy(content.bytes, event.offset + from, from, at + SECTOR - event.offset);
  }
}

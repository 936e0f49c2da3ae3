/**
 * `mirror.json`: up to which change the plain files are on the disk. It is written only after the files themselves were
 * flushed, so that it never claims too much (M6).
 */
import type { ChangeLog } from "../sqlite/change-log.ts";
import { jsonText, MARK_FILE } from "./file-format.ts";
import type { MirrorFiles } from "./mirror-files.ts";

export interface Mark {
  readonly version: 1;
  /** The last change whose files are on the disk, and its id: another database has another id there. */
  readonly synced: number;
  readonly change: string | null;
  readonly at: number;
  /** Whether nothing was written after it: the program stopped cleanly. */
  readonly clean: boolean;
}

/** Without a schema library: the mirror's thread parses nothing else, and the library would double its memory. */
function isMark(value: unknown): value is Mark {
  const { version, synced, change, at, clean } = Object(value) as Partial<Record<keyof Mark, unknown>>;
  return (
    version === 1 &&
    Number.isSafeInteger(synced) &&
    (synced as number) >= 0 &&
    (change === null || typeof change === "string") &&
    Number.isSafeInteger(at) &&
    typeof clean === "boolean"
  );
}

/** Undefined if it is missing or cannot be parsed: then every agent is compared again. */
export function readMark(files: MirrorFiles): Mark | undefined {
  const text = files.read(MARK_FILE)?.toString();
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isMark(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether the files of a mark were written from this database: `same`, `other` (for example after a restored backup), or
 * `unknown` if the change was pruned from the log.
 */
export function compareMark(source: ChangeLog, mark: Mark): "same" | "other" | "unknown" {
  if (mark.synced === 0 && mark.change === null) return "same";
  const there = source.changeId(mark.synced);
  if (there !== undefined) return there === mark.change ? "same" : "other";
  return mark.synced < source.bounds().first ? "unknown" : "other";
}

export function writeMark(files: MirrorFiles, mark: Mark): void {
  files.replace(MARK_FILE, jsonText(mark));
  files.sync(MARK_FILE);
  files.sync(".");
}

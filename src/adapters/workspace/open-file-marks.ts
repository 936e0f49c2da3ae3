/**
 * Keeps the marks of files in `untrusted-files.jsonl` of the home: a line for each path and content, appended and flushed
 * before the file is written. A crash in between leaves a mark without its file, which means nothing (M32). The file is read with
 * its first use; one process has the home at a time (M7).
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { join, sep } from "node:path";
import { FILE_MODE, type HomePaths } from "../../config/paths.ts";
import type { FileMarks } from "../tools/files/file-marks.ts";
import { writeQueues } from "../tools/files/write-queues.ts";

export const marksFile = ({ home }: Pick<HomePaths, "home">): string => join(home, "untrusted-files.jsonl");

/** Versions of one file that may be on the disk: those before and after writes that a crash interrupted. */
const MAX_VERSIONS = 8;
/** The file is written again when it has this many lines more than it needs. */
const SPARE_LINES = 200;

const digestOf = (content: string): string => createHash("sha256").update(content).digest("hex");
const lineOf = (path: string, sha256: string): string => `${JSON.stringify({ path, sha256 })}\n`;

type Known = Map<string, string[]>;

export function openFileMarks(paths: Pick<HomePaths, "home">): FileMarks {
  const file = marksFile(paths);
  const exclusive = writeQueues().of(file);
  let known: Known | undefined;
  let lines = 0;
  const read = (): Known => {
    if (known) return known;
    const found = readMarks(file);
    known = found.known;
    lines = found.lines;
    return known;
  };
  return {
    has: (path, content) => read().get(path)?.includes(digestOf(content)) ?? false,
    knows: (path) => read().has(path) || [...read().keys()].some((one) => one.startsWith(`${path}${sep}`)),
    get isEmpty() {
      return read().size === 0;
    },
    add: (path, content) =>
      exclusive(async () => {
        const marks = read();
        const digest = digestOf(content);
        // The latest last: the oldest versions are the ones that are given up.
        const versions = (marks.get(path) ?? []).filter((one) => one !== digest);
        if (versions.length < (marks.get(path)?.length ?? 0) && marks.get(path)?.at(-1) === digest) return;
        await append(file, lineOf(path, digest));
        lines += 1;
        marks.set(path, [...versions, digest].slice(-MAX_VERSIONS));
        if (lines > countOf(marks) * 2 + SPARE_LINES) lines = await rewrite(file, marks);
      }),
  };
}

const countOf = (known: Known): number => [...known.values()].reduce((sum, { length }) => sum + length, 0);

/** A line that cannot be read is skipped: the last one may be torn. Throws if the file exists and cannot be read. */
function readMarks(file: string): { readonly known: Known; readonly lines: number } {
  const known: Known = new Map();
  const texts = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  for (const text of texts) {
    const { path, sha256 } = parsed(text);
    if (path === undefined || sha256 === undefined) continue;
    known.set(path, [...(known.get(path) ?? []).filter((one) => one !== sha256), sha256].slice(-MAX_VERSIONS));
  }
  return { known, lines: texts.length };
}

function parsed(line: string): { readonly path?: string; readonly sha256?: string } {
  try {
    const { path, sha256 } = JSON.parse(line) as Record<string, unknown>;
    return typeof path === "string" && typeof sha256 === "string" ? { path, sha256 } : {};
  } catch {
    return {};
  }
}

async function append(file: string, line: string): Promise<void> {
  const handle = await open(file, "a", FILE_MODE);
  try {
    // A torn last line must not swallow this one.
    await handle.writeFile(`\n${line}`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Replaces the file by one without repetitions, and without files that no longer exist. Returns its number of lines. */
async function rewrite(file: string, known: Known): Promise<number> {
  for (const path of known.keys()) if (!existsSync(path)) known.delete(path);
  const lines = [...known].flatMap(([path, digests]) => digests.map((digest) => lineOf(path, digest)));
  const handle = await open(`${file}.tmp`, "w", FILE_MODE);
  try {
    await handle.writeFile(lines.join(""));
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.tmp`, file);
  return lines.length;
}

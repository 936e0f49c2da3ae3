/**
 * Keeps the marks of files in `untrusted-files.jsonl` of the home: a line for each path and content, appended and flushed
 * before the file is written. A crash in between leaves a mark without its file, which means nothing (M32). Nobody knows
 * before what a command will write: its directories are under suspicion until it has ended. The file is read with its first use; one process has the home
 * at a time (M7). Paths in the home are stored relative to it, so that marks count in a backup that is restored elsewhere.
 */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { open, readFile, rename } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { FILE_MODE, type HomePaths } from "../../config/paths.ts";
import type { FileMarks } from "../tools/files/file-marks.ts";
import { writeQueues } from "../tools/files/write-queues.ts";
import { changedSince, isChangedSince } from "./changed-since.ts";

/** Versions of one file that may be on the disk: those before and after writes that a crash interrupted. */
const MAX_VERSIONS = 8;
/** The file is written again when it has this many lines more than it needs. */
const SPARE_LINES = 200;

const digestOf = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

/** As it is stored. `home`: its real path, as the paths of its files begin. */
const storedPath = (home: string, path: string): string =>
  path === home || isBelow(home, path) ? relative(home, path) : path;
const lineOf = (home: string, path: string, sha256: string): string => markLine(storedPath(home, path), sha256);
/** `path`: relative to the home, or outside of it. */
export const markLine = (path: string, sha256: string): string => `${JSON.stringify({ path, sha256 })}\n`;
export const marksFile = ({ home }: Pick<HomePaths, "home">): string => join(home, "untrusted-files.jsonl");

type Known = Map<string, string[]>;

/** Directories that a command writes to while such text is in context. */
interface Suspicion {
  readonly id: string;
  readonly roots: readonly string[];
  readonly since: number;
  /** The command cannot write these. */
  readonly except: readonly string[];
}

/** Whether the command may have written a file. */
const mayWrite = ({ roots, except }: Suspicion, path: string): boolean =>
  roots.some((root) => isBelow(root, path)) && !except.some((one) => one === path || isBelow(one, path));

interface Marks {
  readonly home: string;
  readonly known: Known;
  readonly suspicions: Map<string, Suspicion>;
  /** Paths that were marked since the file was last shortened: what is written there may not be on the disk yet. */
  readonly recent: Set<string>;
  lines: number;
}

export function openFileMarks(paths: Pick<HomePaths, "home">): FileMarks {
  const file = marksFile(paths);
  const exclusive = writeQueues().of(file);
  let marks: Marks | undefined;
  const read = (): Marks => {
    marks ??= readMarks(file);
    return marks;
  };
  return {
    forget: (root) =>
      exclusive(async () => {
        const all = read();
        const isOf = (path: string): boolean => path === root || isBelow(root, path);
        const paths = [...all.known.keys()].filter(isOf);
        const ids = [...all.suspicions.values()].filter(({ roots }) => roots.some(isOf)).map(({ id }) => id);
        for (const path of paths) all.known.delete(path);
        for (const id of ids) all.suspicions.delete(id);
        // Also lines of earlier marks are gone then.
        if (existsSync(file)) all.lines = await rewrite(file, all);
      }),
    has(path, content) {
      const { known, suspicions } = read();
      if (known.get(path)?.includes(digestOf(content))) return true;
      return [...suspicions.values()].some((one) => mayWrite(one, path) && isChangedSince(path, one.since));
    },
    knows(path) {
      const { known, suspicions } = read();
      if (known.has(path) || [...known.keys()].some((one) => isBelow(path, one))) return true;
      const near = [...suspicions.values()].filter(
        (one) => mayWrite(one, path) || one.roots.some((root) => root === path || isBelow(path, root)),
      );
      return near.some(({ since }) => !isPlainFile(path) || isChangedSince(path, since));
    },
    get isEmpty() {
      return read().known.size === 0 && read().suspicions.size === 0;
    },
    add: (path, content) =>
      exclusive(async () => {
        await addAll(file, read(), [[path, digestOf(content)]]);
        await shorten(file, read());
      }),
    suspect: (id, roots, since, except = []) =>
      exclusive(async () => {
        const { home, suspicions } = read();
        await append(file, suspicionLine(home, { id, roots, since, except }));
        suspicions.set(id, { id, roots, since, except });
      }),
    settle: (id) =>
      exclusive(async () => {
        const { suspicions } = read();
        const found = suspicions.get(id);
        if (!found) return;
        const { paths: changed, isComplete } = await changedSince(found.roots, found.since);
        const added: [string, string][] = [];
        for (const path of changed.filter((one) => mayWrite(found, one))) {
          const bytes = await readFile(path).catch(() => undefined);
          if (bytes) added.push([path, digestOf(bytes)]);
        }
        await addAll(file, read(), added);
        // In a directory with too many files everything that was changed since stays marked.
        if (!isComplete) return;
        await append(file, settledLine(id));
        suspicions.delete(id);
        await shorten(file, read());
      }),
  };
}

const isBelow = (root: string, path: string): boolean => path.startsWith(`${root}${sep}`);

function isPlainFile(path: string): boolean {
  try {
    return lstatSync(path).isFile();
  } catch {
    return false;
  }
}

async function addAll(file: string, marks: Marks, added: readonly (readonly [string, string])[]): Promise<void> {
  const fresh = added.filter(([path, digest]) => marks.known.get(path)?.at(-1) !== digest);
  if (fresh.length === 0) return;
  await append(file, fresh.map(([path, digest]) => lineOf(marks.home, path, digest)).join(""));
  for (const [path, digest] of fresh) {
    // The latest last: the oldest versions are the ones that are given up.
    const versions = (marks.known.get(path) ?? []).filter((one) => one !== digest);
    marks.known.set(path, [...versions, digest].slice(-MAX_VERSIONS));
    marks.recent.add(path);
  }
  marks.lines += fresh.length;
}

async function shorten(file: string, marks: Marks): Promise<void> {
  if (marks.lines <= countOf(marks.known) * 2 + SPARE_LINES) return;
  marks.lines = await rewrite(file, marks);
  marks.recent.clear();
}

const countOf = (known: Known): number => [...known.values()].reduce((sum, { length }) => sum + length, 0);

/** A line that cannot be read is skipped: the last one may be torn. Throws if the file exists and cannot be read. */
function readMarks(file: string): Marks {
  const known: Known = new Map();
  const suspicions = new Map<string, Suspicion>();
  const texts = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  const directory = dirname(file);
  const home = existsSync(directory) ? realpathSync(directory) : directory;
  const whole = (path: string): string => resolve(home, path);
  for (const text of texts) {
    const line = parsed(text);
    if (!line) continue;
    if ("suspect" in line) {
      const { suspect: id, roots, since, except = [] } = line;
      suspicions.set(id, { id, roots: roots.map(whole), since, except: except.map(whole) });
    } else if ("settled" in line) suspicions.delete(line.settled);
    else {
      const { sha256 } = line;
      const path = whole(line.path);
      known.set(path, [...(known.get(path) ?? []).filter((one) => one !== sha256), sha256].slice(-MAX_VERSIONS));
    }
  }
  return { home, known, suspicions, recent: new Set(), lines: texts.length };
}

const lineSchema = z.union([
  z.object({ path: z.string(), sha256: z.string() }),
  z.object({
    suspect: z.string(),
    roots: z.array(z.string()),
    since: z.number(),
    except: z.array(z.string()).optional(),
  }),
  z.object({ settled: z.string() }),
]);

function suspicionLine(home: string, { id, roots, since, except }: Suspicion): string {
  const [inHome, not] = [roots, except].map((paths) => paths.map((path) => storedPath(home, path)));
  return `${JSON.stringify({ suspect: id, roots: inHome, since, except: not })}\n`;
}

const settledLine = (id: string): string => `${JSON.stringify({ settled: id })}\n`;

function parsed(line: string): z.infer<typeof lineSchema> | undefined {
  try {
    return line === "" ? undefined : lineSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
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
async function rewrite(file: string, { home, known, suspicions, recent }: Marks): Promise<number> {
  for (const path of known.keys()) if (!recent.has(path) && !existsSync(path)) known.delete(path);
  const lines = [
    ...[...known].flatMap(([path, digests]) => digests.map((digest) => lineOf(home, path, digest))),
    ...[...suspicions.values()].map((one) => suspicionLine(home, one)),
  ];
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

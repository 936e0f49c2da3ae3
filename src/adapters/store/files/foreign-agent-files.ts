/**
 * The files of an agent in a directory that this program does not own, for reading only. Nothing outside the directory is
 * read: a link is refused, and so is everything that is not a regular file. Sizes are bounded.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { type AgentId, isAgentId } from "../../../core/ids.ts";
import { agentPaths } from "./file-format.ts";
import { archivePath } from "./history-archive.ts";
import type { MirrorFiles } from "./mirror-files.ts";

const MB = 1 << 20;

/** The files that are read, and how large each may be. */
const LIMITS: Readonly<Record<string, number>> = {
  "descriptor.json": MB,
  "state.json": 16 * MB,
  "pending.json": 64 * MB,
  "history.jsonl": 4_096 * MB,
  "history.jsonl.bak": 4_096 * MB,
};
const MAX_LINE_BYTES = 16 * MB;
const NEWLINE = 0x0a;

export interface ForeignAgent {
  readonly id: AgentId;
  /** The real path. */
  readonly dir: string;
  readonly files: MirrorFiles;
}

/** Throws `NotFoundError` or `InvalidInputError`. Changes nothing. */
export function openForeignAgent(path: string): ForeignAgent {
  const dir = realDirectory(path);
  // A directory that was moved aside twice has a number behind its id.
  const id = basename(dir).replace(/-\d{1,9}$/u, "");
  if (!isAgentId(id)) {
    throw new InvalidInputError(`The name of ${dir} is not the id of an agent.`, {
      hint: "Name the directory of one agent, such as agents/<id> or agents-aside/<id> of a home.",
    });
  }
  const nameOf = nameIn(agentPaths(id).dir);
  const files = readOnlyFiles(dir, nameOf);
  for (const name of Object.keys(LIMITS)) checkFile(dir, name);
  const { history } = agentPaths(id);
  for (const path of [history, archivePath(history)]) checkLines(files, path);
  return { id, dir, files };
}

function realDirectory(path: string): string {
  try {
    const dir = realpathSync(path);
    if (lstatSync(dir).isDirectory()) return dir;
  } catch (cause) {
    throw new NotFoundError(`There is no directory ${path}.`, { cause, hint: "Name the directory of an agent." });
  }
  throw new InvalidInputError(`${path} is not a directory.`, { hint: "Name the directory of an agent." });
}

const nameIn =
  (prefix: string) =>
  (path: string): string =>
    path.startsWith(`${prefix}/`) ? path.slice(prefix.length + 1) : path;

function checkFile(dir: string, name: string): void {
  const fd = openFile(dir, name);
  if (fd !== undefined) closeSync(fd);
}

/** Undefined if it does not exist. The check and every read use the same open file. */
function openFile(dir: string, name: string): number | undefined {
  const limit = LIMITS[name];
  if (limit === undefined) return undefined;
  const path = join(dir, name);
  let fd: number;
  try {
    // A pipe must not make the program wait.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code !== "ELOOP" && code !== "EMLINK") throw cause;
    throw refused(`${path} is a link.`, "Replace it by the file itself: nothing outside the directory is read.");
  }
  const info = fstatSync(fd);
  if (info.isFile() && info.size <= limit) return fd;
  closeSync(fd);
  if (!info.isFile()) throw refused(`${path} is not a regular file.`, "Replace it by a regular file.");
  throw refused(`${path} has ${info.size} bytes, and the limit is ${limit}.`, "The agent cannot be adopted.");
}

const refused = (message: string, hint: string): InvalidInputError => new InvalidInputError(message, { hint });

/** A line of any length would have to fit into memory. */
function checkLines(files: MirrorFiles, path: string): void {
  const size = files.size(path) ?? 0;
  let length = 0;
  for (let at = 0; at < size; at += MB) {
    const portion = files.readAt(path, at, MB);
    const first = portion.indexOf(NEWLINE);
    length += first < 0 ? portion.length : first;
    if (length > MAX_LINE_BYTES)
      throw refused(`${path} has a line of more than ${MAX_LINE_BYTES} bytes.`, "Shorten it.");
    if (first >= 0) length = portion.length - 1 - portion.lastIndexOf(NEWLINE);
  }
}

/** Repairs of a torn end are not written: the database gets the lines, and the directory stays as it is. */
function readOnlyFiles(dir: string, nameOf: (path: string) => string): MirrorFiles {
  const reading = <T>(path: string, read: (fd: number, size: number) => T): T | undefined => {
    const fd = openFile(dir, nameOf(path));
    if (fd === undefined) return undefined;
    try {
      return read(fd, fstatSync(fd).size);
    } finally {
      closeSync(fd);
    }
  };
  return {
    read: (path) => reading(path, (fd, size) => readPart(fd, 0, size)),
    readAt: (path, offset, length) => reading(path, (fd) => readPart(fd, offset, length)) ?? Buffer.alloc(0),
    size: (path) => reading(path, (_, size) => size),
    list: () => [],
    append() {},
    replace() {},
    truncate() {},
    move() {},
    remove() {},
    makeDir() {},
    sync() {},
  };
}

function readPart(fd: number, offset: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  let have = 0;
  while (have < length) {
    const got = readSync(fd, buffer, have, length - have, offset + have);
    if (got === 0) break;
    have += got;
  }
  return buffer.subarray(0, have);
}

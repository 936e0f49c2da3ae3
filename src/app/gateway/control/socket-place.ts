/**
 * Where the control socket of a home is. It lies in the home. A socket's path may have about 100 bytes, so for a home with a
 * longer path it lies in a private directory elsewhere, which the file `control.path` of the home names. The user who owns
 * the home owns the socket and its directory, and no one else may use them: that is checked before every use.
 */
import { lstatSync, mkdtempSync, readFileSync, type Stats, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { ConfigError } from "../../../core/errors.ts";

const SOCKET_FILE = "control.sock";
/** Names the directory of the socket, if the path of the home is too long. */
export const PLACE_FILE = "control.path";
/** Linux takes 107 bytes, macOS 103. */
const MAX_SOCKET_PATH = 100;
const MAX_PLACE = 4_096;
const OTHERS = 0o077;
const STICKY = 0o1000;

interface SocketPlace {
  readonly path: string;
  /** The directory outside of the home that holds it. */
  readonly directory?: string;
}

export const fitsSocket = (path: string): boolean => Buffer.byteLength(path) <= MAX_SOCKET_PATH;

/** Where the socket of a running engine would be. Undefined if the home names no place. Throws if the place is not safe. */
export function placeOf(home: string): SocketPlace | undefined {
  const path = join(home, SOCKET_FILE);
  if (fitsSocket(path)) return { path };
  const directory = namedDirectory(home);
  if (directory === undefined || !exists(directory)) return undefined;
  assertPrivate(directory, home);
  return { path: join(directory, SOCKET_FILE), directory };
}

/**
 * Where an engine binds the socket. The caller holds the lock of the home. A new directory has a name that no one can guess, so
 * no one can have made it before.
 */
export function placeForEngine(
  home: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): SocketPlace & { readonly isNew: boolean } {
  const path = join(home, SOCKET_FILE);
  if (fitsSocket(path)) return { path, isNew: false };
  const known = namedDirectory(home);
  if (known !== undefined && isPrivate(known, home) && fitsSocket(join(known, SOCKET_FILE))) {
    return { path: join(known, SOCKET_FILE), directory: known, isNew: false };
  }
  for (const base of [env.XDG_RUNTIME_DIR, tmpdir(), "/tmp"]) {
    if (base === undefined || !isAbsolute(base) || !fitsSocket(join(base, "rookery-XXXXXX", SOCKET_FILE))) continue;
    if (!isSafeParent(base)) continue;
    try {
      const directory = mkdtempSync(join(base, "rookery-"));
      assertPrivate(directory, home);
      return { path: join(directory, SOCKET_FILE), directory, isNew: true };
    } catch {
      // Not writable: the next one.
    }
  }
  throw new ConfigError(`The home ${home} has a long path, and there is no directory for its control socket.`, {
    hint: "Set XDG_RUNTIME_DIR to a directory that only this user can use, or choose a home with a shorter path.",
  });
}

/** Throws unless `path` is a socket of the home's owner that no one else can use. */
export function assertOwnSocket(path: string, home: string): void {
  const stat = lstatSync(path);
  if (!stat.isSocket()) throw notSafe(path, "is not a socket", "Remove it, and start `rookery serve` again.");
  if (!isOwn(stat, home)) throw notSafe(path, "belongs to another user", "Run this command as the owner of the home.");
  if ((stat.mode & OTHERS) !== 0)
    throw notSafe(path, "can be used by other users", `Run \`chmod 600 ${path}\`, or start \`rookery serve\` again.`);
}

function assertPrivate(directory: string, home: string): void {
  if (isPrivate(directory, home)) return;
  const hint = `Remove ${join(home, PLACE_FILE)} and start \`rookery serve\` again.`;
  throw notSafe(directory, "does not belong to the owner of the home alone", hint);
}

const notSafe = (path: string, what: string, hint: string): ConfigError =>
  new ConfigError(`${path} ${what}. It is not used as the control socket.`, { hint });

function isPrivate(directory: string, home: string): boolean {
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  if (!stat?.isDirectory() || !isOwn(stat, home) || (stat.mode & OTHERS) !== 0) return false;
  return isSafeParent(dirname(directory));
}

/** No one else can replace what lies in it: only its owner can write to it, or it is sticky, as /tmp is. */
function isSafeParent(directory: string): boolean {
  const stat = statSync(directory, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return false;
  return (stat.mode & 0o022) === 0 || (stat.mode & STICKY) !== 0;
}

/** The home's owner, or this process: a root process may serve the home of another user. */
function isOwn({ uid }: Stats, home: string): boolean {
  return uid === process.getuid?.() || uid === statSync(home).uid;
}

function namedDirectory(home: string): string | undefined {
  const file = join(home, PLACE_FILE);
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (!stat?.isFile() || stat.size > MAX_PLACE || !isOwn(stat, home)) return undefined;
  const named = readFileSync(file, "utf8").trim();
  return isAbsolute(named) ? named : undefined;
}

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/**
 * Reads the files of a workspace for system prompts: regular files only, never through a link, bounded. A prompt is built
 * before every model call, so texts are cached by a fingerprint of the file. A missing file is cached by the fingerprint of its
 * directory, so one `lstat` of the directory covers all missing files.
 */
import { type BigIntStats, lstatSync } from "node:fs";
import { join } from "node:path";
import type { ReadWorkspaceFile } from "../../engine/context/prompt/system-prompt.ts";
import { readPlainText } from "../system/plain-text.ts";
import { noGuard, type TrustedFiles } from "../tools/files/prompt-guard.ts";

/** Longer files are cut. */
export const MAX_BYTES = 1024 * 1024;
/** Longer texts are not cached. */
const MAX_CACHED_CHARS = 64 * 1024;
const MAX_WORKSPACES = 100;
/** The clock of a file system is coarse: a file changed just before it was read may change again with the same fingerprint. */
const SETTLED_MS = 2_000;

interface CachedFile {
  /** Of the file, or of its directory if the file is missing. */
  readonly fingerprint: string;
  readonly text: string | undefined;
}

/** The reader returns undefined for a file it cannot read. The prompt is then built without it, and its report says so. */
export function workspaceReaders(
  now: () => number,
  guard: Pick<TrustedFiles, "of"> = noGuard,
): (workspace: string) => ReadWorkspaceFile {
  const cache = new Map<string, Map<string, CachedFile>>();
  return (workspace) => {
    const directory = fingerprintOf(workspace, now());
    const files = cache.get(workspace) ?? new Map<string, CachedFile>();
    if (cache.size >= MAX_WORKSPACES) cache.clear();
    cache.set(workspace, files);
    return (name) => {
      const trusted = guard.of(join(workspace, name));
      if (trusted.is !== "disk")
        return trusted.is === "text" ? trusted.bytes.toString("utf8", 0, MAX_BYTES) : undefined;
      const last = files.get(name);
      // The directory is unchanged, so a missing file is still missing.
      if (last && last.fingerprint === directory) return undefined;
      const path = join(workspace, name);
      const own = fingerprintOf(path, now());
      if (last && last.fingerprint === own) return last.text;
      const text = own === MISSING ? undefined : readPlainText(path, MAX_BYTES, "cut");
      const fingerprint = own === MISSING && !name.includes("/") ? directory : own;
      if (fingerprint === FRESH || fingerprint === MISSING || (text?.length ?? 0) > MAX_CACHED_CHARS)
        files.delete(name);
      else files.set(name, { fingerprint, text });
      return text;
    };
  };
}

const MISSING = "missing";
const FRESH = "fresh";

/** Differs whenever the file or directory has changed. */
function fingerprintOf(path: string, now: number): string {
  let stats: BigIntStats | undefined;
  try {
    stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return FRESH;
  }
  if (!stats) return MISSING;
  if (Number(stats.ctimeMs) > now - SETTLED_MS) return FRESH;
  const { ino, size, mtimeNs, ctimeNs } = stats;
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

/**
 * The policy of a command as a list of mounts, in the order in which they are made: the whole disk is read-only, and each
 * deeper rule covers a part of it. Links are resolved first, so a rule for a link covers what it points to.
 */
import type { Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { isAbsolute, sep } from "node:path";
import { InvalidInputError } from "../../core/errors.ts";
import type { SandboxPolicy } from "./sandbox.ts";

type MountMode = "write" | "read" | "hide" | "freeze";

export interface Mount {
  readonly path: string;
  readonly mode: MountMode;
  readonly isDirectory: boolean;
}

/** Of two rules for the same path the first in this list holds. */
const STRENGTH: readonly MountMode[] = ["freeze", "write", "read", "hide"];

/** Paths that do not exist are left out: there is nothing to show or to hide. */
export async function mountsOf(policy: SandboxPolicy): Promise<readonly Mount[]> {
  const { writable, readable, hidden, frozen } = policy;
  const wanted: readonly (readonly [MountMode, readonly string[]])[] = [
    ["hide", hidden],
    ["read", readable],
    ["write", writable],
    ["freeze", frozen],
  ];
  const found = new Map<string, Mount>();
  for (const [mode, paths] of wanted) {
    for (const path of paths) {
      const real = await resolved(path);
      if (!real) continue;
      const before = found.get(real.path);
      if (before && STRENGTH.indexOf(before.mode) < STRENGTH.indexOf(mode)) continue;
      found.set(real.path, { path: real.path, mode, isDirectory: real.stats.isDirectory() });
    }
  }
  return [...found.values()].sort((a, b) => depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1));
}

const depth = (path: string): number => path.split(sep).filter(Boolean).length;

async function resolved(path: string): Promise<{ readonly path: string; readonly stats: Stats } | undefined> {
  if (!isAbsolute(path)) throw new InvalidInputError(`${path} is not an absolute path.`);
  try {
    const real = await realpath(path);
    return { path: real, stats: await stat(real) };
  } catch {
    return undefined;
  }
}

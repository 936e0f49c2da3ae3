/** The permissions of a child: at most those of its parent. Tags are daycare's: `@network`, `@read:<dir>`, `@write:<dir>`. */

import type { AgentState } from "../../core/agent/state.ts";
import { InvalidInputError } from "../../core/errors.ts";
import { trimCharsEnd } from "../../core/trim-chars.ts";

type Permissions = NonNullable<AgentState["permissions"]>;

/** The permissions that a list of tags names. Throws if the parent lacks one of them. */
export function permissionsOf(tags: readonly string[], parent: Permissions = {}): Permissions {
  const readDirs: string[] = [];
  const writeDirs: string[] = [];
  let network = false;
  const readable = [...(parent.readDirs ?? []), ...(parent.writeDirs ?? [])];
  for (const tag of tags) {
    const [, kind, path = ""] = /^@(network|read:|write:)(.*)$/su.exec(tag.trim()) ?? [];
    if (kind === "network" && path === "" && parent.network) network = true;
    else if (kind === "read:" && isInside(path, readable)) readDirs.push(path);
    else if (kind === "write:" && isInside(path, parent.writeDirs ?? [])) writeDirs.push(path);
    else throw new InvalidInputError(`Cannot attach permission '${tag}' - you don't have it.`);
  }
  return {
    readDirs: readDirs.length > 0 ? readDirs : undefined,
    writeDirs: writeDirs.length > 0 ? writeDirs : undefined,
    network: network || undefined,
  };
}

/** Compares names only; the file tools resolve links when they open a path. A path with `..` is inside of no directory. */
function isInside(path: string, directories: readonly string[]): boolean {
  if (!path.startsWith("/") || path.split("/").some((part) => part === "." || part === "..")) return false;
  const below = (directory: string): boolean => {
    const root = trimCharsEnd(directory, "/");
    return path === root || path.startsWith(`${root}/`);
  };
  return directories.some(below);
}

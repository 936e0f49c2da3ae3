/** What a child may be given: at most what its parent has. Tags are daycare's: `@network`, `@read:<dir>`, `@write:<dir>`. */

import type { AgentState } from "../../core/agent/state.ts";
import { InvalidInputError } from "../../core/errors.ts";

type Permissions = NonNullable<AgentState["permissions"]>;

/** The permissions a list of tags stands for. Throws where one is not the parent's to give. */
export function permissionsOf(tags: readonly string[], parent: Permissions = {}): Permissions {
  const readDirs: string[] = [];
  const writeDirs: string[] = [];
  let network = false;
  for (const tag of tags) {
    const [, kind, path = ""] = /^@(network|read:|write:)(.*)$/su.exec(tag.trim()) ?? [];
    const held = { network: [], "read:": [...(parent.readDirs ?? []), ...(parent.writeDirs ?? [])] };
    if (kind === "network" && path === "" && parent.network) network = true;
    else if (kind === "read:" && isInside(path, held["read:"])) readDirs.push(path);
    else if (kind === "write:" && isInside(path, parent.writeDirs ?? [])) writeDirs.push(path);
    else throw new InvalidInputError(`Cannot attach permission '${tag}' - you don't have it.`);
  }
  return {
    ...(readDirs.length > 0 ? { readDirs } : {}),
    ...(writeDirs.length > 0 ? { writeDirs } : {}),
    ...(network ? { network } : {}),
  };
}

/** By name only; whoever opens a path looks at where it really leads. A path that climbs is inside of nothing. */
function isInside(path: string, directories: readonly string[]): boolean {
  if (!path.startsWith("/") || path.split("/").some((part) => part === "." || part === "..")) return false;
  const below = (directory: string): boolean => {
    const root = directory.replace(/\/+$/u, "");
    return path === root || path.startsWith(`${root}/`);
  };
  return directories.some(below);
}

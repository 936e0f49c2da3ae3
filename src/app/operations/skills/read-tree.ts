/** A directory of this machine as a source. Links are listed, not followed; `.git` is left out. Files are read when they are chosen. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { refused } from "../../../adapters/workspace/skills/skill-bundle.ts";
import { readPart } from "../../../adapters/workspace/skills/skill-directory.ts";
import type { SourceTree } from "./source-tree.ts";

const MAX_ENTRIES = 5_000;
const MAX_DEPTH = 12;
const LEFT_OUT = new Set([".git", "node_modules"]);

export function readTree(root: string): SourceTree {
  const sizes = new Map<string, number>();
  const odd = new Map<string, string>();
  let entries = 0;
  const walk = (below: string, depth: number): void => {
    for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
      if (++entries > MAX_ENTRIES) throw refused(`${root} has more than ${MAX_ENTRIES} files and directories`);
      if (LEFT_OUT.has(entry.name)) continue;
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) {
        if (depth < MAX_DEPTH) walk(path, depth + 1);
        else odd.set(path, "too deep");
      } else if (entry.isFile()) sizes.set(path, lstatSync(join(root, path)).size);
      else odd.set(path, entry.isSymbolicLink() ? "a link" : "no regular file");
    }
  };
  walk("", 0);
  return { sizes, odd, read: (path) => readPart(join(root, path), path) };
}

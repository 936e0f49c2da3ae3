/** A copy of the working tree in which a mutant can be on the disk, with the packages of the original. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const LEFT_OUT = new Set(["node_modules", ".git", ".mutate", ".flaky", "dist", "coverage"]);

/** Returns its directory. The caller removes it. */
export function copyTree(root: string): string {
  const directory = mkdtempSync(join(tmpdir(), "rookery-mutate-"));
  cpSync(root, directory, { recursive: true, filter: (path) => !LEFT_OUT.has(relative(root, path)) });
  // A directory of links, so that caches below `node_modules` are the copy's own.
  mkdirSync(join(directory, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules")).filter((one) => !/^\.(?!bin$)/.test(one)))
    symlinkSync(join(root, "node_modules", name), join(directory, "node_modules", name));
  return directory;
}

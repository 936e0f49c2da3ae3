/**
 * The files with which a repository makes git run programs, for every repository below a directory at any depth: its settings, hooks and
 * attributes, and the files that its settings name.
 */
import { type Dirent, existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";

/** Directories that are looked at below one root. Deeper ones of a larger tree are not found. */
const MAX_DIRECTORIES = 50_000;
const MAX_CONFIG = 100_000;
const NAMES: readonly string[] = ["config", "config.worktree", "hooks", "info/attributes", "commondir"];

/** Paths that may be missing: making one of them is as good as changing it. A link is never followed. */
export function repositoryFiles(roots: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const root of roots) {
    const open = [root];
    let looked = 0;
    for (let at = open.pop(); at !== undefined && looked++ < MAX_DIRECTORIES; at = open.pop()) {
      const entries = entriesOf(at);
      const names = new Set(entries.map(({ name }) => name));
      const isRepository = isRepositoryWith(names);
      if (isRepository) for (const path of filesOf(at)) found.add(path);
      for (const entry of entries) {
        if (entry.name === ".git" && !entry.isDirectory()) found.add(join(at, entry.name));
        if (entry.isDirectory() && !(isRepository && entry.name === "objects")) open.push(join(at, entry.name));
      }
    }
  }
  return [...found].filter((path) => roots.some((root) => path.startsWith(`${root}${sep}`)));
}

const isRepositoryWith = (names: ReadonlySet<string>): boolean =>
  names.has("HEAD") && ((names.has("objects") && names.has("refs")) || names.has("commondir"));

function filesOf(repository: string): readonly string[] {
  const own = NAMES.map((name) => join(repository, name));
  const tree = dirname(repository);
  // Git resolves a relative path from the directory of the settings or from that of the files.
  const named = namedFiles(textAt(join(repository, "config"))).flatMap((path) =>
    [resolve(repository, path), resolve(tree, path)].filter((one) => existsSync(one) && !isAround(one, repository)),
  );
  return [...own, ...named];
}

/** A directory around the repository is not frozen as a whole. */
const isAround = (path: string, repository: string): boolean => `${repository}${sep}`.startsWith(`${path}${sep}`);

/** The files and directories that the settings of a repository name. */
export function namedFiles(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", ...rest] = line.split("=");
    const value = rest.join("=").trim().replaceAll('"', "");
    const isNamed = ["hookspath", "path", "attributesfile"].includes(
      name
        .trim()
        .toLowerCase()
        .split(/[\s\]]/u)
        .at(-1) ?? "",
    );
    return isNamed && value !== "" && !value.startsWith("~") ? [value] : [];
  });
}

function textAt(path: string): string {
  try {
    return readFileSync(path, "utf8").slice(0, MAX_CONFIG);
  } catch {
    return "";
  }
}

function entriesOf(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Whether a directory holds only the examples that git puts there, which it does not run. */
export const hasOnlySamples = (directory: string): boolean =>
  entriesOf(directory).every(({ name }) => name.endsWith(".sample"));

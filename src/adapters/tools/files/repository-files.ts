/**
 * The files with which a repository makes git run programs, for every repository below a directory at any depth: its settings, hooks and
 * attributes, and the files that its settings name.
 */
import { constants, type Dirent } from "node:fs";
import { access, open, readdir } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";

/** Directories that are looked at below one root. Deeper ones of a larger tree are not found. */
const MAX_DIRECTORIES = 50_000;
/** Directories that are read at the same time. Between them the process does its other work. */
const PORTION = 32;
const MAX_CONFIG = 100_000;
const MAX_NAMED = 1_000;
const NAMES: readonly string[] = ["config", "config.worktree", "hooks", "info/attributes", "commondir"];

/** Paths that may be missing: making one of them is as good as changing it. A link is never followed. */
export async function repositoryFiles(roots: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const root of roots) {
    const left = [root];
    for (let looked = 0; left.length > 0 && looked < MAX_DIRECTORIES; looked += PORTION) {
      for (const { files, directories } of await Promise.all(left.splice(-PORTION).map(lookAt))) {
        for (const path of files) found.add(path);
        for (const path of directories) left.push(path);
      }
    }
  }
  return [...found].filter((path) => roots.some((root) => path.startsWith(`${root}${sep}`)));
}

async function lookAt(directory: string) {
  const entries = await entriesOf(directory);
  const isRepository = isRepositoryWith(new Set(entries.map(({ name }) => name)));
  const links = entries.filter((entry) => entry.name === ".git" && !entry.isDirectory());
  const deeper = entries.filter((entry) => entry.isDirectory() && !(isRepository && entry.name === "objects"));
  return {
    files: [...(isRepository ? await filesOf(directory) : []), ...links.map(({ name }) => join(directory, name))],
    directories: deeper.map(({ name }) => join(directory, name)),
  };
}

const isRepositoryWith = (names: ReadonlySet<string>): boolean =>
  names.has("HEAD") && ((names.has("objects") && names.has("refs")) || names.has("commondir"));

async function filesOf(repository: string): Promise<readonly string[]> {
  const tree = dirname(repository);
  const named = namedFiles(await textAt(join(repository, "config"))).slice(0, MAX_NAMED);
  // Git resolves a relative path from the directory of the settings or from that of the files.
  const paths = named.flatMap((path) => [resolve(repository, path), resolve(tree, path)]);
  const files = NAMES.map((name) => join(repository, name));
  for (const path of paths) if (!isAround(path, repository) && (await exists(path))) files.push(path);
  return files;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

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

/** The beginning of a regular file, otherwise nothing: a pipe would never end. */
async function textAt(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  try {
    if (!(await handle?.stat())?.isFile()) return "";
    const read = await handle?.read(Buffer.alloc(MAX_CONFIG), 0, MAX_CONFIG, 0);
    return read?.buffer.toString("utf8", 0, read.bytesRead) ?? "";
  } catch {
    return "";
  } finally {
    await handle?.close();
  }
}

const entriesOf = (directory: string): Promise<readonly Dirent[]> =>
  readdir(directory, { withFileTypes: true }).catch(() => []);

/** Whether a directory holds only the examples that git puts there, which it does not run. */
export const hasOnlySamples = async (directory: string): Promise<boolean> =>
  (await entriesOf(directory)).every(({ name }) => name.endsWith(".sample"));

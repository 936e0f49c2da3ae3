/**
 * The files with which a repository makes git run programs, for every repository below a directory at any depth: its settings, hooks and
 * attributes, and the files that its settings name.
 */
import { constants, type Dirent, existsSync } from "node:fs";
import { access, open, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { type GitSetting, readGitSettings } from "../../../core/rights/git-settings.ts";
import { codeOf } from "./disk.ts";

/** Directories that are looked at below one root before a command. */
const MAX_DIRECTORIES = 50_000;
/** Directories that are read at the same time. Between them the process does its other work. */
const PORTION = 32;
const MAX_CONFIG = 100_000;
const MAX_NAMED = 1_000;
const NAMES: readonly string[] = ["config", "config.worktree", "hooks", "info/attributes", "commondir"];
/** Usually the largest part of a workspace. They are searched last, so the limit does not hide sources. */
const DEPENDENCIES: readonly string[] = ["node_modules", ".venv", "venv", "vendor", "target", ".cache"];

export interface Repository {
  readonly directory: string;
  /** Its settings; undefined if they cannot be read, or not as git reads them. */
  readonly settings?: readonly GitSetting[];
  /** Whether it has hooks that git would run. */
  readonly hooks: boolean;
}

export interface FoundRepositories {
  /** The directories that were searched, without those in other ones. */
  readonly roots: readonly string[];
  /** Paths that may be missing: making one of them is as good as changing it. A link is never followed. */
  readonly files: readonly string[];
  readonly repositories: readonly Repository[];
  /** Files and links with the name `.git`, which send git to a repository at another place. */
  readonly links: readonly string[];
  /** Directories at which the search stopped: nobody knows what is in them. */
  readonly unsearched: readonly string[];
}

export const NO_REPOSITORIES: FoundRepositories = { roots: [], files: [], repositories: [], links: [], unsearched: [] };

/** `paths`: directories, which may be inside each other or missing. */
export async function findRepositories(paths: readonly string[], limit = MAX_DIRECTORIES): Promise<FoundRepositories> {
  const roots = outermost((await Promise.all(paths.map(realPaths))).flat());
  const links: string[] = [];
  const repositories: Repository[] = [];
  const unsearched: string[] = [];
  for (const root of roots) {
    const left = [root];
    const later: string[] = [];
    for (let looked = 0; left.length + later.length > 0 && looked < limit; ) {
      const now = (left.length > 0 ? left : later).splice(-Math.min(PORTION, limit - looked));
      looked += now.length;
      for (const found of await Promise.all(now.map(lookAt))) {
        links.push(...found.links);
        if (found.repository) repositories.push(found.repository);
        for (const path of found.directories) (DEPENDENCIES.includes(basename(path)) ? later : left).push(path);
      }
    }
    unsearched.push(...left, ...later);
  }
  const isBelowRoot = (path: string): boolean => roots.some((root) => path.startsWith(`${root}${sep}`));
  const own = repositories.flatMap(({ directory }) => NAMES.map((name) => join(directory, name)));
  const files = new Set([...links, ...own, ...(await namedFiles(repositories, links.map(dirname)))]);
  return { files: [...files].filter(isBelowRoot), roots, repositories, links, unsearched };
}

const realPaths = (path: string): Promise<readonly string[]> =>
  realpath(path).then(
    (found) => [found],
    () => [],
  );

export const isIn = (root: string, path: string): boolean => path === root || path.startsWith(`${root}${sep}`);

const outermost = (paths: readonly string[]): readonly string[] => [
  ...new Set(paths.filter((path) => !paths.some((other) => other !== path && isIn(other, path)))),
];

async function lookAt(directory: string) {
  const entries = await entriesOf(directory);
  const names = new Set(entries.map(({ name }) => name));
  const isRepository = isRepositoryWith((name) => names.has(name));
  const links = entries.filter((entry) => entry.name === ".git" && !entry.isDirectory());
  const deeper = entries.filter((entry) => entry.isDirectory() && !(isRepository && entry.name === "objects"));
  return {
    links: links.map(({ name }) => join(directory, name)),
    repository: isRepository ? await repositoryAt(directory) : undefined,
    directories: deeper.map(({ name }) => join(directory, name)),
  };
}

const repositoryAt = async (directory: string): Promise<Repository> => ({
  directory,
  settings: await settingsOf(directory),
  hooks: !(await hasOnlySamples(join(directory, "hooks"))),
});

/** Without HEAD too: git takes settings from there for a worktree, and HEAD may come back. */
const isRepositoryWith = (has: (name: string) => boolean): boolean =>
  (has("objects") && has("refs")) || (has("HEAD") && has("commondir"));

/** Whether a path is in a directory that git accepts as a repository. `path`: absolute, with links resolved. */
export function isInRepository(path: string): boolean {
  for (let at = dirname(path); dirname(at) !== at; at = dirname(at)) if (isRepositoryAt(at)) return true;
  return false;
}

const isRepositoryAt = (directory: string): boolean => isRepositoryWith((name) => existsSync(join(directory, name)));

/**
 * Whether git obeys what is at this path, and runs it or takes programs from it: the settings, hooks and attributes of a repository.
 * A path in a `.git` counts even if nothing is there any more.
 */
export function isRepositoryFile(path: string): boolean {
  if (basename(path) === ".git") return true;
  return NAMES.some((name) => {
    const isDirectory = name === "hooks";
    const at = isDirectory ? `${path}${sep}`.lastIndexOf(`${sep}${name}${sep}`) : path.length - name.length - 1;
    if (at <= 0 || (!isDirectory && path.slice(at) !== `${sep}${name}`)) return false;
    const directory = path.slice(0, at);
    return directory.split(sep).includes(".git") || isRepositoryAt(directory);
  });
}

async function settingsOf(repository: string): Promise<readonly GitSetting[] | undefined> {
  const texts = await Promise.all(["config", "config.worktree"].map((name) => textAt(join(repository, name))));
  const read = texts.map((text) => (text === undefined ? undefined : readGitSettings(text)));
  return read.includes(undefined) ? undefined : read.flatMap((settings) => settings ?? []);
}

/** The existing files that the settings of repositories name. `trees`: where a `.git` stands that is not a directory. */
async function namedFiles(repositories: readonly Repository[], trees: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  let tried = 0;
  for (const { directory, settings = [] } of repositories) {
    const own = settings.flatMap(({ key, value }) => (key === "core.worktree" ? [resolve(directory, value)] : []));
    const named = settings.filter(({ key, value }) => NAMING.test(key) && value !== "" && !value.startsWith("~"));
    // Git resolves a relative path from the directory of the settings or from that of the files.
    for (const base of [directory, dirname(directory), ...own, ...trees])
      for (const path of named.map(({ value }) => resolve(base, value)))
        if (!isAround(path, directory) && tried++ < MAX_NAMED && (await exists(path))) found.add(path);
  }
  return [...found];
}

/** Settings that name a file or a directory from which git takes settings or programs. */
const NAMING = /^(?:core\.(?:hookspath|attributesfile)|include(?:if\..*)?\.path)$/su;

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** A directory around the repository is not frozen as a whole. */
const isAround = (path: string, repository: string): boolean => `${repository}${sep}`.startsWith(`${path}${sep}`);

/** Undefined for a file that is too long or cannot be read, and for what is not a file: a pipe would never end. */
async function textAt(path: string): Promise<string | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error) =>
    ["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "") ? "missing" : undefined,
  );
  if (handle === undefined) return undefined;
  if (handle === "missing") return "";
  try {
    if (!(await handle.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_CONFIG + 1), 0, MAX_CONFIG + 1, 0);
    return bytesRead > MAX_CONFIG ? undefined : buffer.toString("utf8", 0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

const entriesOf = (directory: string): Promise<readonly Dirent[]> =>
  readdir(directory, { withFileTypes: true }).catch(() => []);

/** Whether a directory holds only the examples that git puts there, which it does not run. */
export const hasOnlySamples = async (directory: string): Promise<boolean> =>
  (await entriesOf(directory)).every(({ name }) => name.endsWith(".sample"));

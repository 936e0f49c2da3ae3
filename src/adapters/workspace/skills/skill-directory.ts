/**
 * The directory of an installed skill, read and replaced whole. The new content is complete and flushed beside the old one before two
 * renames put it in its place. A crash between them leaves the old content under another name: readers take it from there, and the
 * next change puts it back (`settleSkills`). So there is the old skill or the new one, and nothing in between.
 */
import { lstatSync, readdirSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, READ } from "../../tools/files/disk.ts";
import { checkPath, MAX_FILE, MAX_FILES, refused, type SkillFiles } from "./skill-bundle.ts";
import { realSkillDisk } from "./skill-disk.ts";

const NEW = ".new";
const OLD = ".old";
const GONE = ".gone";
const beside = (directory: string, suffix: string): string =>
  join(dirname(directory), `.${directory.slice(dirname(directory).length + 1)}${suffix}`);

/** The name of the directory in which a skill is, if a crash came between the two renames; undefined for other names. */
export const replacedName = (name: string): string | undefined =>
  name.startsWith(".") && name.endsWith(OLD) ? name.slice(1, -OLD.length) : undefined;

/** Where a skill is read: its directory, or what a crash has left of it. */
export function directoryNow(directory: string): string {
  const old = beside(directory, OLD);
  return !isThere(directory) && isThere(old) ? old : directory;
}

const isThere = (path: string): boolean => {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
};

/** Null: the directory is removed. The old or the new content is there whenever the process ends. */
export async function replaceSkill(directory: string, files: SkillFiles | null, disk = realSkillDisk): Promise<void> {
  const place = dirname(directory);
  const [staged, old, gone] = [NEW, OLD, GONE].map((suffix) => beside(directory, suffix)) as [string, string, string];
  if (files === null) {
    await disk.remove(gone);
    await disk.rename(directory, gone);
    await disk.flush(place);
    return disk.remove(gone).catch(() => {});
  }
  await disk.remove(staged);
  await disk.mkdir(staged);
  const inside = new Set([...files.keys()].flatMap(parentsOf));
  for (const path of inside) await disk.mkdir(join(staged, path));
  for (const [path, bytes] of files) await disk.write(join(staged, path), bytes);
  for (const path of [...inside, ""]) await disk.flush(join(staged, path));
  if (!isThere(directory)) {
    await disk.rename(staged, directory);
    return disk.flush(place);
  }
  await disk.remove(old);
  await disk.rename(directory, old);
  try {
    await disk.rename(staged, directory);
  } catch (error) {
    await disk.rename(old, directory);
    throw error;
  }
  await disk.flush(place);
  // What is left over is removed with the next change.
  await disk.remove(old).catch(() => {});
}

/** `a/b/c`: `a` and `a/b`, in the order in which they are made. */
function parentsOf(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** Ends replacements that a crash has interrupted. */
export async function settleSkills(place: string, disk = realSkillDisk): Promise<void> {
  for (const name of await readdir(place).catch(() => [])) {
    if (!name.startsWith(".")) continue;
    const replaced = replacedName(name);
    const path = join(place, name);
    if (replaced !== undefined && !isThere(join(place, replaced))) await disk.rename(path, join(place, replaced));
    else if ([NEW, OLD, GONE].some((suffix) => name.endsWith(suffix))) await disk.remove(path);
  }
}

/** Null if there is no such directory. Throws `InvalidInputError` for a link, a pipe, a forbidden name, or too much of it. */
export async function readSkill(directory: string): Promise<SkillFiles | null> {
  const root = directoryNow(directory);
  if (!isThere(root)) return null;
  const files = new Map<string, Buffer>();
  for (const path of listFiles(root)) files.set(path, await readPart(join(root, path), path));
  return files;
}

/** All paths below a directory, without `.git`, in the order of their names. */
export function listFiles(root: string, max = MAX_FILES): readonly string[] {
  const found: string[] = [];
  let read = 0;
  const walk = (below: string): void => {
    for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
      if (entry.name === ".git") continue;
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      checkPath(path);
      if (++read > 2 * max || found.length >= max) throw refused(`it has more than ${max} files`);
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile()) found.push(path);
      else throw refused(`${JSON.stringify(path)} is a link or no regular file`);
    }
  };
  walk("");
  return found.sort();
}

export async function readPart(file: string, path: string): Promise<Buffer> {
  const handle = await open(file, READ).catch((error) => {
    throw codeOf(error) === "ELOOP" ? refused(`${JSON.stringify(path)} is a link`) : error;
  });
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw refused(`${JSON.stringify(path)} is no regular file`);
    if (stats.size > MAX_FILE) throw refused(`${JSON.stringify(path)} is larger than 1 MB`);
    const bytes = Buffer.alloc(stats.size);
    const { bytesRead } = await handle.read(bytes, 0, stats.size, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

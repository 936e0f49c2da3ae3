/**
 * What a source has: paths, and what is at them. Nothing of it is on the disk yet. One skill is chosen from it; only the files of that one
 * are read whole and checked.
 */
import { FILE } from "../../../adapters/workspace/skills/find-skills.ts";
import { nameIn } from "../../../adapters/workspace/skills/parse-skill.ts";
import { checkFiles, refused, type SkillFiles, textOf } from "../../../adapters/workspace/skills/skill-bundle.ts";
import { InvalidInputError } from "../../../core/errors.ts";

export interface SourceTree {
  /** The size of each file. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Why an entry cannot be part of a skill: a link, a device. */
  readonly odd: ReadonlyMap<string, string>;
  read(path: string): Promise<Buffer>;
}

const MAX_DEPTH = 5;
const MAX_CANDIDATES = 200;

export async function chosenSkill(tree: SourceTree, wanted?: string): Promise<SkillFiles> {
  const directory = await directoryOf(tree, wanted);
  const inside = (path: string): boolean => path.startsWith(directory);
  for (const [path, why] of tree.odd) if (inside(path)) throw refused(`${JSON.stringify(path)} is ${why}`);
  const parts = [...tree.sizes]
    .filter(([path]) => inside(path))
    .map(([path, size]) => [path.slice(directory.length), size] as const);
  checkFiles(parts);
  const files = new Map<string, Buffer>();
  for (const [path] of parts) files.set(path, await tree.read(`${directory}${path}`));
  return files;
}

/** The directory of the skill with its slash; "" if the source itself is one. */
async function directoryOf(tree: SourceTree, wanted: string | undefined): Promise<string> {
  const candidates = [...tree.sizes.keys()]
    .filter((path) => (path === FILE || path.endsWith(`/${FILE}`)) && path.split("/").length <= MAX_DEPTH)
    .map((path) => path.slice(0, -FILE.length))
    .sort();
  if (candidates.length > MAX_CANDIDATES) throw refused(`the source has more than ${MAX_CANDIDATES} skills`);
  if (candidates.length === 0)
    throw new InvalidInputError(`There is no skill: no ${FILE} was found.`, {
      hint: "Name the directory, tarball or git repository of a skill. Nothing was changed.",
    });
  if (wanted === undefined) {
    const [first = "", ...others] = candidates;
    // A skill whose own files have skills in them, such as examples.
    if (others.every((other) => other.startsWith(first))) return first;
    const names = await Promise.all(candidates.map((directory) => nameOf(tree, directory)));
    throw new InvalidInputError(`There are ${candidates.length} skills: ${names.join(", ").slice(0, 500)}.`, {
      hint: "Choose one with --skill NAME.",
    });
  }
  for (const directory of candidates) if ((await nameOf(tree, directory)) === wanted) return directory;
  throw new InvalidInputError(`There is no skill "${wanted.slice(0, 64)}" in it.`, { hint: "Nothing was changed." });
}

async function nameOf(tree: SourceTree, directory: string): Promise<string> {
  const path = `${directory}${FILE}`;
  const text = (tree.sizes.get(path) ?? 0) > MAX_TEXT ? undefined : textOf(await tree.read(path));
  return (text === undefined ? undefined : nameIn(text)) ?? directory.slice(0, -1);
}
const MAX_TEXT = 256 * 1024;

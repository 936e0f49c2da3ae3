/**
 * Which files have their changes kept: the parts of prompts, tasks, notes and skills of every workspace and of every person's
 * directory, what makes git run programs in repositories there, and the configuration. A skill of the home changes whole: its directory counts as one file.
 */
import { basename, dirname, join, relative, sep } from "node:path";
import type { HomePaths } from "../../../config/paths.ts";
import type { ChangeKind } from "../../../core/file-change.ts";
import { isPromptFile, keptByAgents } from "../../../core/rights/prompt-files.ts";
import { isRepositoryFile } from "../../tools/files/repository-files.ts";
import { isSkillName } from "../skills/parse-skill.ts";

export interface KeptPlace {
  readonly kind: ChangeKind;
  /** The workspace or the person's directory that it is in; the home for the configuration. */
  readonly root: string;
  /** Relative to the root. */
  readonly name: string;
  /** It is the directory of a skill, and its content is the text of all files in it. */
  readonly isSkill?: true;
}

/** `roots`: the owner's workspaces, resolved. */
export function keptPlace(
  paths: Pick<HomePaths, "config" | "people" | "home">,
  roots: readonly string[],
  path: string,
): KeptPlace | undefined {
  if (path === paths.config) return { kind: "config", root: paths.home, name: relative(paths.home, path) };
  if (dirname(path) === join(paths.home, "skills") && isSkillName(basename(path)))
    return { kind: "skill", root: paths.home, name: relative(paths.home, path), isSkill: true };
  for (const root of [...roots, ...personRoot(paths.people, path)].toSorted((a, b) => b.length - a.length)) {
    const name = relative(root, path);
    if (name === "" || name === ".." || name.startsWith(`..${sep}`)) continue;
    const kind = kindIn(name) ?? (isRepositoryFile(path) ? "repository" : undefined);
    if (kind) return { kind, root, name };
  }
  return undefined;
}

function personRoot(people: string, path: string): readonly string[] {
  const [person = ".."] = relative(people, path).split(sep);
  return person === ".." || person === "" ? [] : [join(people, person)];
}

function kindIn(name: string): ChangeKind | undefined {
  return keptByAgents(name, "") ?? (isPromptFile(name, "") ? "prompt" : undefined);
}

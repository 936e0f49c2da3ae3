/**
 * The skills of an agent, by name: those of its profile's workspace, of the home, of `.agents/skills` in the workspace and of
 * `~/.agents/skills`. The first place that has a name counts. Only the owner's places are read: skills are instructions.
 */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readPlainText } from "../../system/plain-text.ts";
import { parseSkill, type Skill } from "./parse-skill.ts";
import { directoryNow, replacedName } from "./skill-directory.ts";

export interface FoundSkill extends Skill {
  readonly directory: string;
  readonly hash: string;
  /** Of the whole file. */
  readonly text: string;
}

export interface BrokenSkill {
  readonly directory: string;
  readonly problems: readonly string[];
}

export interface SkillPlaces {
  readonly workspace: string;
  readonly home: string;
  readonly userHome: string;
}

export const FILE = "SKILL.md";
const MAX_SKILLS = 200;
const MAX_BYTES = 256 * 1024;

export const skillDirectories = ({ workspace, home, userHome }: SkillPlaces): readonly string[] => [
  join(workspace, "skills"),
  join(home, "skills"),
  join(workspace, ".agents", "skills"),
  join(userHome, ".agents", "skills"),
];

export function findSkills(places: SkillPlaces): {
  readonly skills: readonly FoundSkill[];
  readonly broken: readonly BrokenSkill[];
} {
  const skills = new Map<string, FoundSkill>();
  const broken: BrokenSkill[] = [];
  for (const place of skillDirectories(places)) {
    const found = skillsIn(place, (name) => skills.has(name));
    for (const skill of found.skills) skills.set(skill.name, skill);
    broken.push(...found.broken);
  }
  return { skills: [...skills.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, MAX_SKILLS), broken };
}

/** The skills of one place. `isKnown`: names that are not read. */
export function skillsIn(
  place: string,
  isKnown: (name: string) => boolean = () => false,
): { readonly skills: readonly FoundSkill[]; readonly broken: readonly BrokenSkill[] } {
  const skills: FoundSkill[] = [];
  const broken: BrokenSkill[] = [];
  for (const name of namesIn(place)) {
    if (isKnown(name)) continue;
    const directory = directoryNow(join(place, name));
    const text = readText(join(directory, FILE));
    if (text === undefined) continue;
    const read = parseSkill(text, name);
    if ("problems" in read) broken.push({ directory, problems: read.problems });
    else skills.push({ ...read.skill, directory, text, hash: createHash("sha256").update(text).digest("hex") });
  }
  return { skills, broken };
}

/** Directories only; a link in their place could show everything. */
function namesIn(place: string): readonly string[] {
  try {
    if (!lstatSync(place).isDirectory()) return [];
    const entries = readdirSync(place, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const names = entries.map(({ name }) => replacedName(name) ?? name).filter((name) => !name.startsWith("."));
    return [...new Set(names)].sort().slice(0, MAX_SKILLS);
  } catch {
    return [];
  }
}

/** Undefined if it is not a regular file of a bounded size. */
export const readText = (path: string): string | undefined => readPlainText(path, MAX_BYTES, "refused");

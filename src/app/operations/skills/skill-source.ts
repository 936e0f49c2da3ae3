/** Where a skill comes from: a directory, a tarball, a git repository, or the package of this program. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { SkillFiles } from "../../../adapters/workspace/skills/skill-bundle.ts";
import type { SkillSource } from "../../../core/agent/skill-listing.ts";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { cloned } from "./clone-source.ts";
import { readArchive } from "./read-archive.ts";
import { readTree } from "./read-tree.ts";
import { chosenSkill } from "./source-tree.ts";

interface SourceDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory with the skills of this package. */
  readonly packaged: string;
}

const URL_FORM = /^(?:https?|ssh|git|file):\/\//;
/** `git@host:path`. */
const SCP_FORM = /^[\w.-]{1,64}@[\w.-]{1,253}:[^\s]+$/;

/** What a person has written. Throws `InvalidInputError` or `NotFoundError` with the forms there are. */
export function sourceOf(
  written: string,
  more: Pick<SkillSource, "ref" | "skill">,
  { packaged }: Pick<SourceDeps, "packaged">,
): SkillSource {
  if (URL_FORM.test(written) || SCP_FORM.test(written)) {
    checkUrl(written);
    if (more.ref?.startsWith("-")) throw new InvalidInputError(`"${more.ref}" is not a branch or tag.`);
    return { kind: "git", at: written, ...more };
  }
  if (more.ref !== undefined)
    throw new InvalidInputError("Only a git repository has branches and tags.", { hint: "Leave out --ref." });
  const at = resolve(written);
  const stats = statSync(at, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return { kind: "directory", at, skill: more.skill };
  if (stats?.isFile()) return { kind: "tarball", at, skill: more.skill };
  if (/^[a-z0-9-]{1,64}$/.test(written) && existsSync(join(packaged, written))) return { kind: "package", at: written };
  throw new NotFoundError(`There is no directory, tarball or skill "${written.slice(0, 200)}".`, {
    hint: "Name a directory, a .tar.gz file, a git repository as https://… or git@…, or a skill of the package.",
  });
}

function checkUrl(written: string): void {
  const url = URL.parse(written);
  if (url?.password || (url?.username && /^https?:$/.test(url.protocol)))
    throw new InvalidInputError("An address must not contain a password: it would be kept.", {
      hint: "Use a credential helper of git, or an SSH key.",
    });
  if (/\.(?:tar|tgz|tar\.gz|zip)$/i.test(url?.pathname ?? ""))
    throw new InvalidInputError("Archives are not fetched from the web.", { hint: "Download it, and name the file." });
}

export interface FetchedSkill {
  readonly files: SkillFiles;
  /** With the commit that it is of. */
  readonly source: SkillSource;
}

/** Reads a skill from its source into memory. Nothing of it is kept on the disk. */
export async function fetchSkill(source: SkillSource, { env, packaged }: SourceDeps): Promise<FetchedSkill> {
  switch (source.kind) {
    case "directory":
      return { files: await chosenSkill(readTree(existing(source.at)), source.skill), source };
    case "package":
      return { files: await chosenSkill(readTree(existing(join(packaged, source.at)))), source };
    case "tarball":
      return { files: await chosenSkill(await readArchive(existing(source.at)), source.skill), source };
    case "git":
      return cloned({ url: source.at, ref: source.ref }, env, async (tree, commit) => ({
        files: await chosenSkill(tree, source.skill),
        source: { ...source, commit },
      }));
    case "api":
      throw new InvalidInputError("A program has installed this skill over the API.", { hint: "It updates it too." });
  }
}

function existing(path: string): string {
  if (existsSync(path)) return path;
  throw new NotFoundError(`${path} does not exist any more.`, { hint: "Install the skill from another source." });
}

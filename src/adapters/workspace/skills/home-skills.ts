/**
 * Installs, replaces and removes skills of the home. Each is one kept change of the whole skill, with its author and an undo, made after
 * everything was checked. What was changed by hand since it was installed is replaced only if the request says so.
 */
import { join } from "node:path";
import type { HomePaths } from "../../../config/paths.ts";
import type { FileDifference, InstallReport, SkillSource } from "../../../core/agent/skill-listing.ts";
import { ConflictError, NotFoundError } from "../../../core/errors.ts";
import type { ChangeAuthor } from "../../../core/file-change.ts";
import { unifiedDiff } from "../../../core/line-diff.ts";
import { versionOf } from "../../tools/files/text-version.ts";
import type { FileChanges } from "../changes/file-changes.ts";
import { FILE } from "./find-skills.ts";
import { noteInstalled, readInstalled } from "./installed-skills.ts";
import { isSkillName, nameIn, parseSkill, type Skill } from "./parse-skill.ts";
import { bundleOf, filesIn, refused, type SkillFiles, textOf } from "./skill-bundle.ts";

interface SkillParts {
  readonly changes: FileChanges;
  readonly paths: Pick<HomePaths, "home">;
  now(): number;
}

interface InstallRequest {
  readonly files: SkillFiles;
  readonly source: SkillSource;
  readonly by: ChangeAuthor;
  /** The hash of the content that it replaces; null: there was none. Another one is a conflict. */
  readonly expect?: string | null;
  /** Also if it replaces what was changed by hand, or was not installed. */
  readonly replace?: boolean;
  readonly dryRun?: boolean;
}

/** A skill that can be installed. Throws `InvalidInputError` with all that is wrong. */
export function checkedSkill(files: SkillFiles): Skill & { readonly bundle: string } {
  const bundle = bundleOf(files);
  const bytes = files.get(FILE);
  if (!bytes) throw refused(`it has no ${FILE}`);
  const text = bytes.length > MAX_TEXT ? undefined : textOf(bytes);
  if (text === undefined) throw refused(`its ${FILE} is not text, or larger than 256 KB`);
  const read = parseSkill(text, nameIn(text) ?? "");
  if ("problems" in read) throw refused(read.problems.join("; "));
  return { ...read.skill, bundle };
}
const MAX_TEXT = 256 * 1024;

export async function installSkill(parts: SkillParts, request: InstallRequest): Promise<InstallReport> {
  const { changes, paths } = parts;
  const { files, source, by, expect, replace = false, dryRun = false } = request;
  const { name, description, allowedTools, bundle } = checkedSkill(files);
  const { text, version } = await changes.current(fileOf(name));
  const before = version?.sha256 ?? null;
  const { sha256: hash } = versionOf(bundle);
  const changedByHand = before !== null && before !== hash && !isInstalled(paths, name, before);
  const report = {
    ...{ name, description, tools: allowedTools ?? null, hash, before, changedByHand },
    warnings: warningsOf(files),
    files: differences(text === null ? new Map() : filesIn(text), files),
  };
  if (expect !== undefined && before !== expect)
    throw new ConflictError(`The skill ${name} has changed since you looked.`, { hint: "Look at it again first." });
  if (dryRun) return { ...report, change: null };
  if (changedByHand && !replace)
    throw new ConflictError(`The skill ${name} in the home is not as it was installed. It was not replaced.`, {
      hint: `Look with \`rookery skills show ${name}\`. Replace it with --replace, or remove it first.`,
    });
  noteInstalled(paths, name, { source, hash, at: parts.now() });
  const why = `${before === null ? "installed" : "replaced"} from ${source.at}`.slice(0, 300);
  const made = await changes.write(fileOf(name), bundle, { by, why, expect: before });
  return { ...report, change: made?.id ?? null };
}

export async function removeSkill(
  { changes }: Pick<SkillParts, "changes">,
  name: string,
  by: ChangeAuthor,
): Promise<{ readonly name: string; readonly change: number }> {
  if (!isSkillName(name)) throw noSkill(name);
  const { version } = await changes.current(fileOf(name));
  const made = version && (await changes.write(fileOf(name), null, { by, why: "removed", expect: version.sha256 }));
  if (!made) throw noSkill(name);
  return { name, change: made.id };
}

export const noSkill = (name: string): NotFoundError =>
  new NotFoundError(`There is no skill "${name.slice(0, 64)}" in the home.`, {
    hint: "Run `rookery skills list`. Skills elsewhere are removed by hand.",
  });

/** Whether a content is one that was installed. */
const isInstalled = (paths: Pick<HomePaths, "home">, name: string, hash: string): boolean =>
  installedAs(paths, name)?.versions.some((one) => one.hash === hash) ?? false;

const installedAs = (paths: Pick<HomePaths, "home">, name: string) => {
  const all = readInstalled(paths);
  return Object.hasOwn(all, name) ? all[name] : undefined;
};

const fileOf = (name: string): string => join("skills", name);

/** Not those that join letters and signs. */
const INVISIBLE = /[\u{AD}\u{200B}\u{200E}\u{200F}\u{202A}-\u{202E}\u{2060}-\u{2069}\u{FEFF}\u{E0000}-\u{E007F}]/gu;

/** A model reads what a person who reviews the text does not see. */
const warningsOf = (files: SkillFiles): readonly string[] =>
  [...files].flatMap(([path, bytes]) => {
    const count = textOf(bytes)?.match(INVISIBLE)?.length ?? 0;
    return count === 0 ? [] : [`${path} has ${count} invisible characters, which a model reads and you do not see`];
  });

/** Of all differences together. What comes after is not shown. */
const MAX_DIFF = 500_000;

function differences(before: SkillFiles, after: SkillFiles): readonly FileDifference[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  let left = MAX_DIFF;
  return paths.flatMap((path): readonly FileDifference[] => {
    const [was, is] = [before.get(path), after.get(path)];
    if (was && is?.equals(was)) return [];
    const texts = [was, is].map((bytes) => (bytes ? textOf(bytes) : null));
    const [old, now] = texts;
    const whole = old === undefined || now === undefined ? null : unifiedDiff(old, now, path);
    const diff = whole === null || whole.length > left ? null : whole;
    left -= diff?.length ?? 0;
    return [{ path, is: !was ? "added" : !is ? "removed" : "changed", bytes: is?.length ?? 0, diff }];
  });
}

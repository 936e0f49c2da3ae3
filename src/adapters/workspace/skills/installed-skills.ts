/**
 * Which skills of the home were installed, from where, and with which content: `skills.json` of the home. A version is listed before it
 * is in its place, so a crash leaves one too much and never a skill without one. Contents that are not listed were changed by hand. What
 * is known of a removed skill stays, so that undoing the removal brings all of it back.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { HomePaths } from "../../../config/paths.ts";
import { type SkillSource, skillSourceSchema } from "../../../core/agent/skill-listing.ts";
import { ConfigError } from "../../../core/errors.ts";
import { writePrivateFile } from "../../system/private-file.ts";

const installedSchema = z
  .object({
    source: skillSourceSchema,
    /** The newest last. */
    versions: z.array(z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/), at: z.int() }).readonly()).readonly(),
  })
  .readonly();
const fileSchema = z.record(z.string(), installedSchema);
export type InstalledSkills = Readonly<z.infer<typeof fileSchema>>;

/** Older ones count as changed by hand. */
const MAX_VERSIONS = 20;

const fileOf = ({ home }: Pick<HomePaths, "home">): string => join(home, "skills.json");

export function readInstalled(paths: Pick<HomePaths, "home">): InstalledSkills {
  let text: string;
  try {
    text = readFileSync(fileOf(paths), "utf8");
  } catch {
    return {};
  }
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new ConfigError(`${fileOf(paths)} cannot be read.`, {
      cause,
      hint: "Remove it, and install the skills again. The skills themselves are not in it.",
    });
  }
}

/** Durable when it returns. */
export function noteInstalled(
  paths: Pick<HomePaths, "home">,
  name: string,
  { source, hash, at }: { readonly source: SkillSource; readonly hash: string; readonly at: number },
): void {
  const all = readInstalled(paths);
  const before = Object.hasOwn(all, name) ? (all[name]?.versions ?? []) : [];
  const versions = [...before.filter((one) => one.hash !== hash), { hash, at }].slice(-MAX_VERSIONS);
  save(paths, { ...all, [name]: { source, versions } });
}

const save = (paths: Pick<HomePaths, "home">, all: InstalledSkills): void =>
  writePrivateFile(fileOf(paths), `${JSON.stringify(all, null, 2)}\n`);

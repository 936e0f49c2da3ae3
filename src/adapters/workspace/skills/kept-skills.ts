/** The texts of skills that sessions were begun with, in `skill-versions/` of the home, each named by its hash. */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { HomePaths } from "../../../config/paths.ts";
import { versionOf } from "../../tools/files/text-version.ts";
import { type VersionTexts, versionTexts } from "../changes/version-texts.ts";
import { FILE, readText } from "./find-skills.ts";
import { parseSkill } from "./parse-skill.ts";

/** Beyond this the oldest are removed: a session that still needs one uses the file, if that is the same. */
const MAX_TEXTS = 1_000;

export function skillTexts({ home }: Pick<HomePaths, "home">, max = MAX_TEXTS): VersionTexts {
  const directory = join(home, "skill-versions");
  const texts = versionTexts(directory);
  return {
    ...texts,
    async put(text) {
      const version = await texts.put(text);
      await removeOldest(directory, max);
      return version;
    },
  };
}

async function removeOldest(directory: string, max: number): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  if (names.length <= max) return;
  const dated = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  // A tenth more than necessary, so that it is seldom.
  const oldest = dated.toSorted((a, b) => a.at - b.at).slice(0, names.length - max + Math.floor(max / 10));
  for (const { name } of oldest) await rm(join(directory, name), { force: true });
}

/** The instructions of the version that a session has. */
export const keptBody =
  (texts: Pick<VersionTexts, "get">) =>
  async ({ name, directory, hash }: { readonly name: string; readonly directory: string; readonly hash: string }) => {
    const kept = await texts.get({ sha256: hash, bytes: 0 });
    const text = kept?.toString("utf8") ?? sameText(join(directory, FILE), hash);
    const read = text === undefined ? undefined : parseSkill(text, name);
    return read && "skill" in read ? read.skill.body : undefined;
  };

function sameText(path: string, hash: string): string | undefined {
  const text = readText(path);
  return text !== undefined && versionOf(text).sha256 === hash ? text : undefined;
}

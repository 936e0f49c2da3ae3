/** All skills of a home, for people: where each is, whether agents use it, whether it is as it was installed, and what is wrong with it. */
import { basename, join } from "node:path";
import type { HomePaths } from "../../../config/paths.ts";
import type { ListedSkill } from "../../../core/agent/skill-listing.ts";
import type { FileMarks } from "../../tools/files/file-marks.ts";
import { versionOf } from "../../tools/files/text-version.ts";
import { isMarkedFile } from "../marked-file.ts";
import { FILE, skillDirectories, skillsIn } from "./find-skills.ts";
import { type InstalledSkills, readInstalled } from "./installed-skills.ts";
import { bundleOf, type SkillFiles } from "./skill-bundle.ts";
import { directoryNow, readSkill } from "./skill-directory.ts";

interface ListParts {
  readonly paths: Pick<HomePaths, "home">;
  /** The workspaces of the profiles. */
  readonly workspaces: readonly string[];
  readonly userHome: string;
  readonly marks: FileMarks;
}

/** In the order of the places, then of the names. */
export async function listSkills({ paths, workspaces, userHome, marks }: ListParts): Promise<readonly ListedSkill[]> {
  const home = join(paths.home, "skills");
  const installed = readInstalled(paths);
  const listed = new Map<string, ListedSkill>();
  for (const workspace of workspaces) {
    const known = new Map<string, string>();
    for (const place of skillDirectories({ workspace, home: paths.home, userHome })) {
      const { skills, broken } = skillsIn(place);
      for (const { name, description, directory, text, allowedTools } of skills) {
        const other = known.get(name);
        known.set(name, other ?? directory);
        if (listed.has(directory)) continue;
        const marked = isMarkedFile(marks, directory, FILE, text)
          ? ["an agent wrote it while untrusted text was in its context; change its file to use it"]
          : [];
        const hidden = other === undefined ? [] : [`${other} has the same name and comes first`];
        const content = place === home ? await contentOf(join(home, name), installed, name) : OWN;
        const problems = [...marked, ...hidden, ...content.problems];
        const used = marked.length + hidden.length === 0;
        listed.set(directory, {
          name,
          description,
          directory,
          tools: allowedTools ?? null,
          ...content,
          used,
          problems,
        });
      }
      for (const { directory, problems } of broken)
        listed.set(directory, { ...BROKEN, name: basename(directory), directory, problems });
    }
  }
  return [...listed.values()];
}

const OWN = { state: "own", hash: null, source: null, installedAt: null, problems: [] as readonly string[] } as const;
const BROKEN = { ...OWN, description: "", tools: null, used: false } as const;

async function contentOf(directory: string, installed: InstalledSkills, name: string) {
  const read = await hashOf(directory);
  const record = Object.hasOwn(installed, name) ? installed[name] : undefined;
  if (!record) return { ...OWN, hash: read.hash, problems: read.problems };
  const at = record.versions.find(({ hash }) => hash === read.hash)?.at;
  const changed = at === undefined ? ["its content is not what was installed"] : [];
  return {
    state: at === undefined ? ("changed" as const) : ("installed" as const),
    ...{ hash: read.hash, source: record.source, installedAt: at ?? record.versions.at(-1)?.at ?? null },
    problems: [...changed, ...read.problems],
  };
}

async function hashOf(directory: string): Promise<{ readonly hash: string | null; readonly problems: string[] }> {
  try {
    const files: SkillFiles | null = await readSkill(directory);
    return { hash: files && versionOf(bundleOf(files)).sha256, problems: [] };
  } catch (error) {
    return { hash: null, problems: [`${directoryNow(directory)} cannot be read whole: ${(error as Error).message}`] };
  }
}

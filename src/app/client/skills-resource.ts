/** Skills: instructions for one kind of work. Only the owner uses this. */
import type { InstallReport, ListedSkill, SkillSource } from "../../core/agent/skill-listing.ts";
import type { List } from "../../core/list.ts";
import { type EngineApi, pathOf } from "./engine-api.ts";

/** A file of a skill. Its path is relative to the directory of the skill. */
type SkillFile = { readonly path: string; readonly text: string } | { readonly path: string; readonly base64: string };

interface InstallOptions {
  /** From where the files are. Default: from this program. */
  readonly source?: SkillSource;
  /** The hash of the content that you have seen; null: there was none. */
  readonly expect?: string | null;
  /** Also if what is there was changed by hand, or was not installed. */
  readonly replace?: boolean;
  /** Only checks it and shows the difference. */
  readonly dryRun?: boolean;
}

export interface Skills {
  /** All there are, in every place, with what is wrong with them. */
  list(): Promise<List<ListedSkill>>;
  /** The skill that agents find by this name, with its files. */
  get(name: string): Promise<ListedSkill & { readonly files: readonly SkillFile[] }>;
  /** Installs a skill into the home, or replaces it. Durable when it resolves; `changes.undo` takes it back. */
  install(files: readonly SkillFile[], options?: InstallOptions): Promise<InstallReport>;
  /** Removes a skill of the home. `changes.undo` takes it back. */
  remove(name: string): Promise<{ readonly name: string; readonly change: number }>;
}

export const skillsOf = (api: EngineApi): Skills => ({
  list: () => api.get("/api/skills"),
  get: (name) => api.get(pathOf("api", "skills", name)),
  install: (files, options) => api.post("/api/skills", { files, ...options }),
  remove: (name) => api.delete(pathOf("api", "skills", name)),
});

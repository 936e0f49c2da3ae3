/**
 * Removes what a home holds of a forgotten person besides the store, by the rules of `data/home-parts.ts`: the person's directory, its
 * history of changes and marks, and directories of the person's agents. Repeating it changes nothing more.
 */
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { personDirectory } from "../../../adapters/workspace/person-directory.ts";
import { type HomePaths, processDirectory } from "../../../config/paths.ts";
import type { ForgetDeps } from "./forget-person.ts";
import type { ForgetPlan } from "./forget-plan.ts";

export const directoriesOf = (paths: HomePaths, people: readonly string[]): readonly string[] =>
  people.map((person) => join(paths.people, personDirectory(person)));

export async function forgetHome({ paths, changes, traces }: ForgetDeps, plan: ForgetPlan): Promise<void> {
  const agents = new Set(plan.agents);
  for (const person of plan.people) await changes?.forget(person);
  for (const directory of directoriesOf(paths, plan.people)) {
    await traces?.marks.forget(directory);
    await rm(directory, { recursive: true, force: true });
  }
  // Copies that a killed process left: of the database it looked at, of a file it was about to replace.
  for (const name of await readdir(paths.home))
    if (name.startsWith(".rookery-") || name.endsWith(".tmp"))
      await rm(join(paths.home, name), { recursive: true, force: true });
  for (const parent of [processDirectory(paths), join(paths.home, "agents-aside")]) {
    if (!existsSync(parent)) continue;
    for (const name of await readdir(parent)) {
      // A directory that was set aside twice has a number at its end.
      const [id = ""] = name.split("-");
      if (agents.has(id)) await rm(join(parent, name), { recursive: true, force: true });
    }
  }
}

/** The directories with the notes of a person: the owner's workspaces, one per profile, or the person's own directory. */
import { join } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import { personDirectory } from "./person-directory.ts";
import { profileWorkspaces } from "./workspaces.ts";

export const personNotes =
  (config: Pick<Config, "profiles">, paths: HomePaths) =>
  (person: PersonId): readonly string[] => {
    if (person !== OWNER) return [join(paths.people, personDirectory(person))];
    const profiles = [DEFAULT_PROFILE, ...Object.keys(config.profiles)];
    return [...new Set(profiles.map(profileWorkspaces(config, paths)))];
  };

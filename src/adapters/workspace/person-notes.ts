/** The directories with the notes of a person: the owner's workspaces, one per profile, or the person's own directory. */
import { join } from "node:path";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import type { Current } from "../../core/current.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import { personDirectory } from "./person-directory.ts";
import { profileWorkspaces } from "./workspaces.ts";

export const personNotes =
  (settings: Current<Pick<Config, "profiles">>, paths: HomePaths) =>
  (person: PersonId): readonly string[] => {
    if (person !== OWNER) return [join(paths.people, personDirectory(person))];
    const { current } = settings;
    const profiles = [DEFAULT_PROFILE, ...Object.keys(current.profiles)];
    return [...new Set(profiles.map(profileWorkspaces(current, paths)))];
  };

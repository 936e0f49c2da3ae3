/** The parts of the configuration that tell people apart, read at the moment of use. */
import type { Config } from "../../config/config-schema.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import type { PeopleSettings } from "../../core/agent/person.ts";

export const peopleSettings = (config: Pick<Config, "profiles" | "session" | "owner" | "people">): PeopleSettings => ({
  get unknown() {
    return config.people.unknown;
  },
  get profiles() {
    return [...new Set([DEFAULT_PROFILE, ...Object.keys(config.profiles)])];
  },
  get dmScope() {
    return config.session.dmScope;
  },
  get mainKey() {
    return config.session.mainKey;
  },
  get identityLinks() {
    return config.session.identityLinks;
  },
  get carried() {
    return config.session.carried?.keys;
  },
  get ownerAccounts() {
    return config.owner.accounts;
  },
});

/** The lists of tools of each profile. A profile without access to the workspace has no file tools. */
import type { Config } from "../../config/config-schema.ts";
import type { ToolPolicy } from "../../core/rights/kind-rules.ts";
import { READS, WRITES } from "../../core/rights/rule.ts";

export function toolPolicy({ profiles }: Pick<Config, "profiles">, name: string): ToolPolicy | undefined {
  const profile = profiles[name];
  const { workspaceAccess: access = "rw", tools } = profile ?? {};
  if (!profile || access === "rw") return tools;
  const known = made.get(profile);
  if (known) return known;
  const policy = {
    ...tools,
    deny: [...(tools?.deny ?? []), ...WRITES, "memory_write", ...(access === "none" ? READS : [])],
  };
  made.set(profile, policy);
  return policy;
}

/** By the profile of one load of the configuration: the same list as long as it is in force. */
const made = new WeakMap<object, ToolPolicy>();

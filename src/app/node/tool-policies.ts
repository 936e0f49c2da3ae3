/** The lists of tools of each profile. A profile without access to the workspace has no file tools. */
import type { Config } from "../../config/config-schema.ts";
import type { ToolPolicy } from "../../core/rights/kind-rules.ts";
import { READS, WRITES } from "../../core/rights/rule.ts";

export function toolPolicies({ profiles }: Pick<Config, "profiles">): (profile: string) => ToolPolicy | undefined {
  const made = new WeakMap<object, ToolPolicy>();
  return (name) => {
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
  };
}

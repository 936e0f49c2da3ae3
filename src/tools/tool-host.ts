/** The tools of each agent, by its kind and its profile. The same agent always gets the same list in the same order. */
import type { AgentKind } from "../core/descriptor.ts";
import { InvariantError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { Tool, ToolHost } from "../core/tool.ts";
import { mayUse, type ToolPolicy } from "./tool-policy.ts";

/** What of an agent decides about its tools. */
export interface ToolUser {
  readonly profile: string;
  readonly kind: AgentKind;
}

export interface ToolHostOptions {
  readonly tools: readonly Tool[];
  /** Undefined for an agent nobody knows: it has no tools. */
  userOf(agentId: AgentId): ToolUser | undefined;
  policyOf?(profile: string): ToolPolicy | undefined;
}

/** Tools are ordered by name, so that a prompt's bytes do not depend on who registered first. */
export function toolHost({ tools, userOf, policyOf = () => undefined }: ToolHostOptions): ToolHost {
  const all = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
  const twice = all.find(({ name }, index) => all[index + 1]?.name === name);
  if (twice) throw new InvariantError(`There are two tools called ${twice.name}.`);
  const lists = new Map<string, readonly Tool[]>();

  const list = (agentId: AgentId): readonly Tool[] => {
    const user = userOf(agentId);
    if (!user) return [];
    const key = JSON.stringify([user.profile, user.kind]);
    let known = lists.get(key);
    if (!known) {
      const policy = policyOf(user.profile);
      known = all.filter(({ name }) => mayUse(name, user.kind, policy));
      lists.set(key, known);
    }
    return known;
  };
  return { list, find: (agentId, name) => list(agentId).find((tool) => tool.name === name) };
}

/** The tools of each agent, by its kind and profile. The same agent always gets the same list in the same order. */
import type { Config } from "../../config/config-schema.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { isOwner } from "../../core/agent/session-key.ts";
import { InvariantError } from "../../core/errors.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import { mayUse, type ToolPolicy } from "../../core/rights/kind-rules.ts";
import { isOwnersOnly } from "./owners-only.ts";

export interface ToolHostOptions {
  readonly tools: readonly Tool[];
  /** Tools under old names: not listed, but still found. */
  readonly older?: readonly Tool[];
  policyOf?(profile: string): ToolPolicy | undefined;
  /** Whether children may have children of their own. */
  nesting?(): boolean;
  /**
   * Names the owner's accounts. The list of an agent that serves a guest omits the owner's tools; `find` still finds them,
   * and they answer why they are denied. Absent: no agent serves a guest.
   */
  readonly config?: Pick<Config, "owner">;
}

/** Tools are sorted by name, so that the prompt's bytes do not depend on the order of registration. */
export function toolHost({
  tools,
  older = [],
  policyOf = () => undefined,
  nesting = () => false,
  config,
}: ToolHostOptions): ToolHost {
  const all = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
  const twice = all.find(({ name }, index) => all[index + 1]?.name === name);
  if (twice) throw new InvariantError(`There are two tools called ${twice.name}.`);
  /** The list of a kind and profile, and what it was made from. A reload gives new values. */
  const lists = new Map<string, { readonly from: readonly unknown[]; readonly tools: readonly Tool[] }>();

  const allowed: ToolHost["list"] = ({ profile, descriptor, state }) => {
    const { type: kind } = descriptor;
    const tag = descriptor.type === "system" ? descriptor.tag : undefined;
    const key = JSON.stringify([profile, kind, tag]);
    const policy = policyOf(profile);
    const { allow, deny, subagents } = policy ?? {};
    const from = [allow, deny, subagents?.allow, subagents?.deny, nesting()];
    let known = lists.get(key);
    if (!known || known.from.some((value, index) => value !== from[index])) {
      const options = { nesting: nesting(), tag };
      known = { from, tools: all.filter(({ name }) => mayUse(name, kind, policy, options)) };
      lists.set(key, known);
    }
    // A child with another profile has no tool that its parent lacks (L13).
    const { inheritedTools } = state;
    return inheritedTools ? known.tools.filter(({ name }) => inheritedTools.includes(name)) : known.tools;
  };
  const mayUseOlder = (agent: AgentRecord, name: string): boolean =>
    mayUse(name, agent.descriptor.type, policyOf(agent.profile));
  return {
    list: (agent) =>
      config && isGuest(agent, config) ? allowed(agent).filter((tool) => !isOwnersOnly(tool)) : allowed(agent),
    find: (agent, name) =>
      allowed(agent).find((tool) => tool.name === name) ??
      older.find((tool) => tool.name === name && mayUseOlder(agent, name)),
  };
}

/** A conversation with a person who is not the owner, or with several people. */
function isGuest({ descriptor }: AgentRecord, { owner }: Pick<Config, "owner">): boolean {
  if (descriptor.type !== "user") return false;
  return (descriptor.peerKind ?? "dm") !== "dm" || !isOwner(descriptor, owner.accounts);
}

/** The tools of each agent, by its kind and profile. The same agent always gets the same list in the same order. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { InvariantError } from "../../core/errors.ts";
import { SMALL_WINDOW } from "../../core/history/compaction-settings.ts";
import type { Tool, ToolHost } from "../../core/ports/tool.ts";
import { judge, type Standing } from "../../core/rights/decide.ts";
import { denialByProfile, mayUse, type ToolPolicy } from "../../core/rights/kind-rules.ts";
import { findToolsTool } from "./find-tools.ts";
import { shownTools } from "./shown-tools.ts";

/** Tools that come and go while the program runs: those of MCP servers. */
export interface ChangingTools {
  /** The same array as long as nothing has changed. */
  tools(): readonly Tool[];
  /** Whether agents of a profile may use a tool. */
  isFor(tool: string, profile: string): boolean;
  /** For the description of `find_tools`. */
  summary(): string;
  untrustedFrom(tool: string): string | undefined;
}

interface ToolHostOptions {
  readonly tools: readonly Tool[];
  readonly changing?: ChangingTools;
  /** Tools under old names: not listed, but still found. */
  readonly older?: readonly Tool[];
  policyOf?(profile: string): ToolPolicy | undefined;
  /** Seldom-used tools are not shown to models, and `find_tools` finds them. */
  readonly search?: boolean;
  /** Whether children may have children of their own. */
  nesting?(): boolean;
  /**
   * The rights of the person an agent belongs to. Its list omits what these rights deny in any case; a call by name is
   * still judged, and gets the reason. Undefined: nothing is omitted.
   */
  standingOf?(agent: AgentRecord): Standing | undefined;
}

/** Tools are sorted by name, so that the prompt's bytes do not depend on the order of registration. */
export function toolHost({
  tools,
  changing,
  older = [],
  search = false,
  policyOf = () => undefined,
  nesting = () => false,
  standingOf = () => undefined,
}: ToolHostOptions): ToolHost {
  const finder = search
    ? [
        findToolsTool({
          hiddenFrom: (agent) => hiddenFrom(agent),
          also: changing?.summary,
          untrustedFrom: changing?.untrustedFrom,
        }) as Tool,
      ]
    : [];
  const own = [...tools, ...finder];
  const twice = own.find(({ name }, index) => own.findIndex((other) => other.name === name) !== index);
  if (twice) throw new InvariantError(`There are two tools called ${twice.name}.`);
  const allNow = sortedTools(own, changing);
  /** The list of a kind and profile, and what it was made from. A reload gives new values. */
  const lists = new Map<string, { readonly from: readonly unknown[]; readonly tools: readonly Tool[] }>();

  const allowed: ToolHost["list"] = ({ profile, descriptor, state }) => {
    const { type: kind } = descriptor;
    const tag = descriptor.type === "system" ? descriptor.tag : undefined;
    const key = JSON.stringify([profile, kind, tag]);
    const policy = policyOf(profile);
    const { allow, deny, subagents } = policy ?? {};
    const all = allNow();
    const from = [all, allow, deny, subagents?.allow, subagents?.deny, nesting()];
    let known = lists.get(key);
    if (!known || known.from.some((value, index) => value !== from[index])) {
      const options = { nesting: nesting(), tag };
      const isFor = (name: string) => changing?.isFor(name, profile) ?? true;
      known = { from, tools: all.filter(({ name }) => isFor(name) && mayUse(name, kind, policy, options)) };
      lists.set(key, known);
    }
    // A child with another profile has no tool that its parent lacks (L13).
    const { inheritedTools } = state;
    return inheritedTools ? known.tools.filter(({ name }) => inheritedTools.includes(name)) : known.tools;
  };
  /** An old name is allowed as its present one is, unless the profile denies it by itself. */
  const mayUseOlder = (agent: AgentRecord, { name, renamed = name }: Tool): boolean => {
    const policy = policyOf(agent.profile);
    const user = { nesting: nesting(), inherited: agent.state.inheritedTools };
    if (denialByProfile(name, { deny: policy?.deny }) !== undefined) return false;
    return mayUse(renamed, agent.descriptor.type, policy, user);
  };
  const list: ToolHost["list"] = (agent) => {
    const standing = standingOf(agent);
    const tools = allowed(agent);
    return standing ? tools.filter((tool) => !isDenied(tool, standing)) : tools;
  };
  const shown = (agent: AgentRecord, contextWindow: number): readonly Tool[] =>
    shownTools(list(agent), {
      kind: agent.descriptor.type,
      found: agent.state.foundTools,
      named: policyOf(agent.profile)?.allow,
      small: contextWindow < SMALL_WINDOW,
      unreviewed: (name) => changing?.untrustedFrom(name) !== undefined,
    });
  /** A search finds everything that any window would not be sent. */
  const hiddenFrom = (agent: AgentRecord): readonly Tool[] => {
    const sent = shown({ ...agent, state: { ...agent.state, foundTools: undefined } }, 0);
    return list(agent).filter((tool) => !sent.includes(tool));
  };
  return {
    list,
    shown,
    find: (agent, name) =>
      allowed(agent).find((tool) => tool.name === name) ??
      older.find((tool) => tool.name === name && mayUseOlder(agent, tool)),
    known: (name) => [...allNow(), ...older].find((tool) => tool.name === name),
  };
}

/** All tools of the moment by name. A tool of the program is never replaced by one that comes later. */
function sortedTools(own: readonly Tool[], changing: ChangingTools | undefined): () => readonly Tool[] {
  const sorted = (tools: readonly Tool[]) => tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const names = new Set(own.map(({ name }) => name));
  let more: readonly Tool[] = [];
  let all = sorted(own);
  return () => {
    const now = changing?.tools() ?? more;
    if (now === more) return all;
    more = now;
    all = sorted([...own, ...now.filter(({ name }) => !names.has(name))]);
    return all;
  };
}

const isDenied = ({ name, rights }: Tool, standing: Standing): boolean =>
  judge({ action: name, rights }, standing).verdict === "deny";

/**
 * The rules that count for an agent: of the configuration, of its profile, and of the agent itself, as one party of the gate. A child
 * under another profile is bound by the rules of its parents' profiles too, each as a party of its own, and so are the agents that
 * started it, as they are now: a rule that one of them gets while the child runs counts for the child (L13).
 */
import type { Config } from "../../config/config-schema.ts";
import type { Permissions } from "../../config/sections/permissions.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { WorkspaceAccess } from "../../core/agent/exec-fields.ts";
import { normalizeAgentId } from "../../core/agent/session-key.ts";
import { type Grant, VERDICTS } from "../../core/people/grant.ts";
import type { PersonId } from "../../core/people/person.ts";
import { type ExecPolicy, execPolicyFor } from "../../core/rights/exec-settings.ts";
import type { Place } from "../../core/rights/match-rule.ts";
import { type Rule, ruleOf } from "../../core/rights/rule.ts";
import { NO_RULES, type RuleSet, ruleSet, unionOf } from "../../core/rights/rule-set.ts";
import type { RulesParty } from "../../core/rights/rules-party.ts";

type RulesConfig = Pick<Config, "permissions" | "profiles">;

export interface ConfiguredRules {
  /** One party for each profile that bounds the agent. `people`: everyone on the way of its run. `nodes`: see `nodeOf`. */
  partiesOf(agent: AgentRecord, people: readonly PersonId[], around?: Around): readonly RulesParty[];
  /** Where the agent's commands run. */
  execPolicyOf(
    agent: AgentRecord,
    people: readonly PersonId[],
    around?: Pick<Around, "nodes" | "ancestors">,
  ): ExecPolicy;
  /** The node that its commands run on; empty if its settings name none. Undefined: on the node that works for it. */
  nodeOf(agent: AgentRecord): string | undefined;
  workspaceAccessOf(profile: string): WorkspaceAccess;
}

/** What is known at the moment of a decision. */
export interface Around {
  readonly place?: Place;
  readonly nodes?: readonly string[];
  /** The agents that started this one, nearest first, as the store has them now. */
  readonly ancestors?: readonly AgentRecord[];
}

export function configuredRules(config: RulesConfig): ConfiguredRules {
  const profileOf = (name: string) =>
    config.profiles[name] ??
    Object.entries(config.profiles).find(([spelled]) => normalizeAgentId(spelled) === normalizeAgentId(name))?.[1];
  const execPolicyOf: ConfiguredRules["execPolicyOf"] = (agent, people, { nodes, ancestors = [] } = {}) => {
    const [parent, ...others] = ancestors;
    const isShut = parent && execPolicyOf(parent, people, { nodes, ancestors: others }).host === "sandbox";
    return execPolicyFor(agent, people, { ...profileOf(agent.profile)?.exec, nodes, isShut });
  };
  const partiesOfOne = (agent: AgentRecord, people: readonly PersonId[], around: Around): readonly RulesParty[] => {
    const { rules = [], inheritedProfiles = [] } = agent.state;
    const exec = execPolicyOf(agent, people, around);
    return [...new Set([agent.profile, ...inheritedProfiles])].map((name): RulesParty => {
      const profile = profileOf(name);
      const own = rules.length === 0 ? NO_RULES : ofAgent(rules);
      const sets = [ofConfig(config.permissions), profile?.permissions && ofProfile(profile.permissions), own];
      return {
        rules: unionOf(sets.filter((set): set is RuleSet => set !== undefined)),
        place: around.place,
        exec,
        access: profile?.workspaceAccess,
        untrusted: profile?.permissions?.untrusted ?? config.permissions.untrusted,
      };
    });
  };
  return {
    execPolicyOf,
    nodeOf({ profile, state }) {
      const settings = profileOf(profile)?.exec;
      return (state.execHost ?? settings?.host) === "node" ? (state.execNode ?? settings?.node ?? "") : undefined;
    },
    workspaceAccessOf: (profile) => profileOf(profile)?.workspaceAccess ?? "rw",
    partiesOf(agent, people, around = {}) {
      const family = [agent, ...(around.ancestors ?? [])];
      return family.flatMap((one, at) => partiesOfOne(one, people, { ...around, ancestors: family.slice(at + 1) }));
    },
  };
}

/** Whether its profile, and those of the agents that started it, let an agent write in its workspace. */
export function writesWorkspace(config: RulesConfig, { profile, state }: AgentRecord): boolean {
  const { workspaceAccessOf } = configuredRules(config);
  return [profile, ...(state.inheritedProfiles ?? [])].every((name) => workspaceAccessOf(name) === "rw");
}

/** A value is compiled once. */
function remembered<Key extends object>(compile: (key: Key) => RuleSet): (key: Key) => RuleSet {
  const known = new WeakMap<Key, RuleSet>();
  return (key) => {
    const found = known.get(key) ?? compile(key);
    known.set(key, found);
    return found;
  };
}

const ofAgent = remembered((grants: readonly Grant[]) => ruleSet(grants.map((grant) => ruleOf(grant, "agent"))));
const ofConfig = remembered((permissions: Permissions) => ruleSet(rulesIn(permissions, "permissions")));
const ofProfile = remembered((permissions: Permissions) => ruleSet(rulesIn(permissions, "profile")));

export function rulesIn(permissions: Permissions, source: string): readonly Rule[] {
  return VERDICTS.flatMap((verdict) =>
    (permissions[verdict] ?? []).map((one): Rule => {
      if (typeof one === "string") return { verdict, text: one, source };
      return { verdict, text: one.rule, source, because: one.because, when: one.when };
    }),
  );
}

/** The settings of subagents: depth, number, allowed profiles, model and thinking. */
import type { Config } from "../../config/config-schema.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { THINKING_LEVELS } from "../../core/agent/patch-state.ts";
import { normalizeAgentId } from "../../core/agent/session-key.ts";
import type { ExecPolicy } from "../../core/rights/exec-settings.ts";
import type { ReportSettings } from "./report.ts";

export interface SubagentSettings extends ReportSettings {
  /** 1: a child may not have children. */
  readonly maxDepth: number;
  /** How many children of one agent may be at work at once. */
  readonly maxChildren: number;
  /** The name of the main conversation on screens. */
  readonly mainKey?: string;
  /** Profiles that agents of a profile may start children as, besides their own; `*`: all. */
  allowAgents(profile: string): readonly string[];
  /** A profile as the configuration spells it; undefined if there is none. */
  profileNamed(profile: string): string | undefined;
  /** All profiles, for hints. */
  profileNames?(): readonly string[];
  model(profile: string): string | undefined;
  thinking(profile: string): string | undefined;
  /** Why a model cannot be used, or undefined. Texts with `invalid model` or `model not allowed` are a warning only. */
  checkModel(model: string, profile: string): string | undefined;
  /** The levels of this model, else of the profile's. */
  thinkingLevels(model: string | undefined, profile: string): readonly string[] | Promise<readonly string[]>;
  /** Where commands of an agent run at most. Absent: nothing is known about commands. */
  execOf?(agent: AgentRecord): ExecPolicy;
}

export const DEFAULT_SUBAGENT_SETTINGS: SubagentSettings = {
  maxDepth: 1,
  maxChildren: 100,
  archiveAfterMinutes: 60,
  allowAgents: () => [],
  profileNamed: (profile) => profile,
  model: () => undefined,
  thinking: () => undefined,
  checkModel: () => undefined,
  thinkingLevels: () => THINKING_LEVELS,
};

type SettingsConfig = Pick<Config, "subagents" | "profiles" | "session">;

/** The settings from a configuration, read at each use. `more`: what only the program knows, such as the known models. */
export function subagentSettings(
  { subagents, profiles, session }: SettingsConfig,
  more: Partial<SubagentSettings> = {},
): SubagentSettings {
  const named = () => Object.entries(profiles);
  const own = (profile: string) =>
    named().find(([name]) => normalizeAgentId(name) === normalizeAgentId(profile))?.[1]?.subagents;
  return {
    ...DEFAULT_SUBAGENT_SETTINGS,
    get maxDepth() {
      return subagents.maxDepth;
    },
    get mainKey() {
      return session.mainKey;
    },
    allowAgents: (profile) => own(profile)?.allowAgents ?? subagents.allowAgents,
    profileNamed: (profile) =>
      named().find(([name]) => normalizeAgentId(name) === profile)?.[0] ??
      (profile === DEFAULT_PROFILE ? profile : undefined),
    profileNames: () => [DEFAULT_PROFILE, ...named().map(([name]) => name)],
    model: (profile) => modelOf(own(profile)?.model) ?? modelOf(subagents.model),
    thinking: (profile) => own(profile)?.thinking ?? subagents.thinking,
    ...more,
  };
}

/** A model by its name, or as an object that names its first choice. */
const modelOf = (model: string | { readonly primary: string } | undefined): string | undefined =>
  typeof model === "object" ? model.primary : model;

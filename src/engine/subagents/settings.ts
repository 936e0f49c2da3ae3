/** The settings of subagents by profile: allowed profiles, model and thinking; and what only the program knows about models. */
import type { Settings } from "../../config/settings.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { normalizeAgentId } from "../../core/agent/session-key.ts";
import type { AgentId } from "../../core/ids.ts";

type ProfileSettings = Pick<Settings, "subagents" | "profiles">;

export interface SubagentParts {
  /** Why a model cannot be used, or undefined. Texts with `invalid model` or `model not allowed` are a warning only. */
  checkModel?(model: string, profile: string): string | undefined;
  /** The levels of this model, else of the profile's. Absent: every level. */
  thinkingLevels?(model: string | undefined, profile: string): readonly string[] | Promise<readonly string[]>;
  /** The path of a child's history, for the line of stats. */
  transcriptOf?(agentId: AgentId): string;
}

const ownOf = ({ profiles }: ProfileSettings, profile: string) =>
  Object.entries(profiles).find(([name]) => normalizeAgentId(name) === normalizeAgentId(profile))?.[1]?.subagents;

/** Profiles that agents of a profile may start children as, besides their own; `*`: all. */
export const allowedAgents = (settings: ProfileSettings, profile: string): readonly string[] =>
  (ownOf(settings, profile)?.allowAgents ?? settings.subagents.allowAgents).map((name) => name.trim());

/** A profile as the configuration spells it; undefined if there is none. */
export const profileNamed = ({ profiles }: ProfileSettings, profile: string): string | undefined =>
  Object.keys(profiles).find((name) => normalizeAgentId(name) === profile) ??
  (profile === DEFAULT_PROFILE ? profile : undefined);

export const profileNames = ({ profiles }: ProfileSettings): readonly string[] => [
  DEFAULT_PROFILE,
  ...Object.keys(profiles),
];

export const childModel = (settings: ProfileSettings, profile: string): string | undefined =>
  nameOf(ownOf(settings, profile)?.model) ?? nameOf(settings.subagents.model);

export const childThinking = (settings: ProfileSettings, profile: string): string | undefined =>
  ownOf(settings, profile)?.thinking ?? settings.subagents.thinking;

/** A model by its name, or as an object that names its first choice. */
const nameOf = (model: string | { readonly primary: string } | undefined): string | undefined =>
  typeof model === "object" ? model.primary : model;

/**
 * Which tools an agent may use: first the limits of its kind, then the lists of its profile. Deny always wins over allow.
 */
import type { AgentKind } from "../agent/descriptor.ts";
import { matchesEnding } from "../people/grant.ts";

/** Lists of tool names; `*` stands for any ending (`cron_*`) and alone for every tool. */
export interface ToolPolicy {
  /** Absent: every tool. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** For subagents: `allow` permits what they are denied by default, `deny` forbids more. */
  readonly subagents?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
}

/** Denied to subagents: other sessions, the machine, the memory, agents that outlive the task, messages to other people's agents. */
const CHILD_DENY: readonly string[] = [
  "sessions_list",
  "sessions_history",
  "sessions_send",
  "sessions_spawn",
  "gateway",
  "agents_list",
  "whatsapp_login",
  "session_status",
  "cron",
  "cron_add",
  "cron_delete_task",
  "heartbeat_add",
  "heartbeat_remove",
  "heartbeat_run",
  "memory_search",
  "memory_get",
  "memory_write",
  "message",
  "create_permanent_agent",
  "remove_permanent_agent",
  "create_swarm",
  "remove_swarm",
  "send_user_message",
];

/** The tools for child agents. Subagents have them only if the configuration allows nesting. */
const SPAWN_TOOLS: readonly string[] = ["sessions_spawn", "start_background_agent", "subagents"];
/** Why they have not. */
export const NESTED = "subagents may not have subagents";
/** Clawdbot's text about it. */
export const nestedSpawnText = (tool: string): string => `${tool} is not allowed from sub-agent sessions`;

/** Only for agents that talk to a person. */
const FOREGROUND_ONLY: readonly string[] = ["set_reaction", "send_file", "ask_user"];

/** All tools of a swarm's agent: it talks to unknown contacts and must not reach anything of its owner's. */
const SWARM_TOOLS: readonly string[] = ["send_agent_message", "read_message_file", "current_time"];

/** All tools of a contact: to write to a swarm, and to be answered by it. */
export const CONTACT_TOOLS: readonly string[] = [...SWARM_TOOLS, "send_user_message"];

/** Tools of one system agent, by its tag. */
const SYSTEM_TOOLS: Readonly<Record<string, string>> = { diagnose: "doctor" };

export interface ToolUser {
  /** Whether subagents may have children. */
  readonly nesting?: boolean;
  /** The tag of a system agent. */
  readonly tag?: string;
  /** All tools of a child with another profile: it has none that its parent lacks (L13). */
  readonly inherited?: readonly string[];
}

export const mayUse = (tool: string, kind: AgentKind, policy: ToolPolicy = {}, user: ToolUser = {}): boolean =>
  denialByKind(tool, kind, user, policy) === undefined && denialByProfile(tool, policy) === undefined;

/** Why an agent of this kind may not use a tool, for no person and in no profile; undefined if it may. */
export function denialByKind(
  tool: string,
  kind: AgentKind,
  { nesting = false, tag, inherited }: ToolUser = {},
  { subagents = {} }: ToolPolicy = {},
): string | undefined {
  if (Object.hasOwn(SYSTEM_TOOLS, tool) && SYSTEM_TOOLS[tool] !== tag) return "only one system agent has this tool";
  if (inherited && !inherited.includes(tool)) return "the agent that started this one does not have this tool";
  if (kind === "swarm" && !SWARM_TOOLS.includes(tool)) return "a swarm's agent talks to contacts and does nothing else";
  if (kind !== "user" && FOREGROUND_ONLY.includes(tool)) return "only an agent that talks to a person has this tool";
  if (kind !== "subagent") return undefined;
  const { allow = [], deny = [] } = subagents;
  if (named(tool, deny)) return "the profile denies it to subagents";
  if (named(tool, allow)) return undefined;
  if (SPAWN_TOOLS.includes(tool)) return nesting ? undefined : NESTED;
  return CHILD_DENY.includes(tool) ? "subagents do not have this tool" : undefined;
}

export function denialByProfile(tool: string, { allow, deny = [] }: ToolPolicy = {}): string | undefined {
  if (named(tool, deny)) return "the profile denies it";
  return allow === undefined || named(tool, allow) ? undefined : "the profile does not allow it";
}

const named = (tool: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matchesEnding(pattern, tool));

/**
 * Which tools an agent has. What a kind of agent may never do is taken away first, then the profile's lists are asked;
 * deny wins over allow, wherever either stands.
 */
import type { AgentKind } from "../../core/agent/descriptor.ts";

/** Lists of tool names; `*` stands for any ending (`cron_*`) and alone for every tool. */
export interface ToolPolicy {
  /** Absent: every tool. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** For subagents: `allow` gives back what children are denied by default, `deny` takes more away. */
  readonly subagents?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
}

/** What children are denied: reaching other sessions, starting agents of their own, the machine, the memory. */
export const CHILD_DENY: readonly string[] = [
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
];

/** What starts children and deals with them: children have it where the configuration lets them have children. */
export const SPAWN_TOOLS: readonly string[] = ["sessions_spawn", "start_background_agent", "subagents"];
/** What children are denied beside: making agents that outlive their task, writing to strangers. */
export const CHILD_DENY_LASTING: readonly string[] = [
  "create_permanent_agent",
  "remove_permanent_agent",
  "create_swarm",
  "remove_swarm",
  "send_user_message",
];

/** What only an agent with a person in front of it can do. */
export const FOREGROUND_ONLY: readonly string[] = ["set_reaction", "send_file"];

/** All a swarm's agent has: it speaks with strangers, and has no hands in its owner's house. */
export const SWARM_TOOLS: readonly string[] = ["send_agent_message", "read_message_file", "current_time"];

/** What belongs to a system agent, by its tag. */
export const SYSTEM_TOOLS: Readonly<Record<string, string>> = { diagnose: "doctor" };

export interface ToolUser {
  /** Whether children may have children of their own. */
  readonly nesting?: boolean;
  /** A system agent's. */
  readonly tag?: string;
}

export function mayUse(
  tool: string,
  kind: AgentKind,
  policy: ToolPolicy = {},
  { nesting = false, tag }: ToolUser = {},
): boolean {
  if (Object.hasOwn(SYSTEM_TOOLS, tool) && SYSTEM_TOOLS[tool] !== tag) return false;
  if (kind === "swarm" && !SWARM_TOOLS.includes(tool)) return false;
  if (kind !== "user" && FOREGROUND_ONLY.includes(tool)) return false;
  if (kind === "subagent") {
    const { allow = [], deny = [] } = policy.subagents ?? {};
    if (named(tool, deny)) return false;
    const denied = SPAWN_TOOLS.includes(tool) ? !nesting : [...CHILD_DENY, ...CHILD_DENY_LASTING].includes(tool);
    if (denied && !named(tool, allow)) return false;
  }
  if (named(tool, policy.deny ?? [])) return false;
  return policy.allow === undefined || named(tool, policy.allow);
}

const named = (tool: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => (pattern.endsWith("*") ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern));

/**
 * Which of an agent's tools a model is sent. Every schema costs room in the context, so seldom-used tools are left out until
 * the agent finds them with `find_tools`. This decides no right: a tool that is left out can be called, and the gate judges it.
 */
import type { AgentKind } from "../../core/agent/descriptor.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { FIND_TOOLS } from "./find-tools.ts";
import { isMcpTool } from "./mcp/tool-name.ts";

/** Seldom-used tools, and the kinds of agents that always see them. Tools of a program are never in this table. */
export const SELDOM: Readonly<Record<string, readonly AgentKind[]>> = {
  agents_list: [],
  apply_patch: [],
  create_permanent_agent: [],
  create_swarm: [],
  cron_add: [],
  cron_delete_task: ["cron"],
  cron_read_memory: ["cron"],
  cron_read_task: ["cron"],
  cron_write_memory: ["cron"],
  heartbeat_add: ["heartbeat"],
  heartbeat_list: ["heartbeat"],
  heartbeat_remove: ["heartbeat"],
  heartbeat_run: [],
  mcp_answer: [],
  mcp_prompts: [],
  mcp_resources: [],
  process: [],
  read_message_file: ["swarm", "permanent", "subagent"],
  remove_permanent_agent: [],
  remove_swarm: [],
  send_user_message: [],
  session_status: [],
  sessions_history: [],
  sessions_list: [],
  sessions_send: [],
  start_background_agent: [],
  withdraw_approval: [],
};

/** Tools that a model with a small window is not sent either. */
export const NOT_CORE: readonly string[] = [
  "cron",
  "exec",
  "find",
  "grep",
  "memory_write",
  "send_agent_message",
  "sessions_spawn",
  "subagents",
  "web_fetch",
  "web_search",
];

/** Fewer tools than this are not worth a search. */
const LEAST_HIDDEN = 4;

interface Showing {
  readonly kind: AgentKind;
  /** Tools the agent has found in this session. */
  readonly found?: readonly string[];
  /** Tools that its profile allows by their names. */
  readonly named?: readonly string[];
  /** The model's window is small. */
  readonly small: boolean;
  /** Whether no person has looked at the texts of a tool. The model gets them from `find_tools` only, which marks them (M32). */
  readonly unreviewed?: (tool: string) => boolean;
}

/** The tools of an agent that its model is sent, in the order of `all`. */
export function shownTools(all: readonly Tool[], showing: Showing): readonly Tool[] {
  const { found = [], unreviewed = () => false } = showing;
  const isStrange = ({ name }: Tool): boolean => !found.includes(name) && unreviewed(name);
  if (!all.some(({ name }) => name === FIND_TOOLS)) return all.filter((tool) => !isStrange(tool));
  const shown = all.filter(({ name }) => isShown(name, showing));
  const isSearched = all.length - shown.length >= LEAST_HIDDEN || found.length > 0 || all.some(isStrange);
  return isSearched ? shown : all.filter(({ name }) => name !== FIND_TOOLS);
}

function isShown(name: string, { kind, found = [], named = [], small, unreviewed }: Showing): boolean {
  if (found.includes(name)) return true;
  if (unreviewed?.(name)) return false;
  // Servers may have hundreds of tools.
  if (isMcpTool(name)) return named.includes(name);
  const seldom = Object.hasOwn(SELDOM, name) ? SELDOM[name] : undefined;
  if (seldom?.includes(kind)) return true;
  if (named.includes(name)) return true;
  return seldom === undefined && !(small && NOT_CORE.includes(name));
}

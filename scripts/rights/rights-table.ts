/** The table of rights: for every kind of agent, role and tool, what is decided without a grant, and why not. */
import { agentTools, olderAgentTools } from "../../src/adapters/tools/agents/agent-tools.ts";
import { currentTimeTool } from "../../src/adapters/tools/current-time.ts";
import { execTools } from "../../src/adapters/tools/exec/exec-tools.ts";
import { fileTools } from "../../src/adapters/tools/files/file-tools.ts";
import { findToolsTool } from "../../src/adapters/tools/find-tools.ts";
import { mcpAnswerTool } from "../../src/adapters/tools/mcp/mcp-answer-tool.ts";
import { mcpPromptsTool, mcpResourcesTool } from "../../src/adapters/tools/mcp/mcp-read-tools.ts";
import { memoryTools } from "../../src/adapters/tools/memory/memory-tools.ts";
import { cronTaskTools } from "../../src/adapters/tools/schedules/cron-task-tools.ts";
import { cronTool } from "../../src/adapters/tools/schedules/cron-tool.ts";
import { heartbeatTools } from "../../src/adapters/tools/schedules/heartbeat-tools.ts";
import { skillTool } from "../../src/adapters/tools/skills/skill-tool.ts";
import { subagentTools } from "../../src/adapters/tools/subagents/subagent-tools.ts";
import { webTools } from "../../src/adapters/tools/web/web-tools.ts";
import { AGENT_KINDS, type AgentKind } from "../../src/core/agent/descriptor.ts";
import { OWNER, type PersonId, ROLES, type Role } from "../../src/core/people/person.ts";
import type { Tool } from "../../src/core/ports/tool.ts";
import { decide, type Standing } from "../../src/core/rights/decide.ts";

/** Nothing is called: a tool's name and rights do not depend on what it works with. */
export const nothing = new Proxy({}, { get: () => nothing }) as never;

export const older: readonly Tool[] = olderAgentTools(nothing);
/** Every tool, by name. */
export const tools: readonly Tool[] = (
  [
    ...agentTools(nothing),
    ...subagentTools(nothing, nothing),
    ...fileTools({ placesOf: nothing }),
    ...execTools(nothing),
    ...webTools(nothing),
    ...cronTaskTools(nothing),
    ...heartbeatTools(nothing),
    cronTool(nothing),
    currentTimeTool(nothing, nothing),
    findToolsTool({ hiddenFrom: () => [] }),
    ...memoryTools(nothing, nothing),
    skillTool(nothing),
    mcpAnswerTool(nothing),
    mcpResourcesTool(nothing),
    mcpPromptsTool(nothing),
  ] as readonly Tool[]
).toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** A person of a role, without grants. */
export const standingOf = (role: Role): Standing => ({
  person: (role === "owner" ? OWNER : role) as PersonId,
  role,
  grants: [],
});

/** The system agent that has a tool of its own. */
export const TAG = "doctor";

export interface Cell {
  readonly tool: string;
  readonly kind: AgentKind;
  readonly role: Role;
  /** Why it is denied; empty if it is allowed. */
  readonly reason: string;
}

export const cells: readonly Cell[] = tools.flatMap(({ name: tool, rights }) =>
  AGENT_KINDS.flatMap((kind) =>
    ROLES.map((role): Cell => {
      const tag = kind === "system" ? TAG : undefined;
      const { reason } = decide({ action: tool, rights }, { people: [standingOf(role)], kind, tag });
      return { tool, kind, role, reason: reason.replace(/^\S+ is not known here$/u, "the person is not known here") };
    }),
  ),
);

/** The table as Markdown, with a list of the reasons. */
export function rightsTable(): string {
  const reasons = [...new Set(cells.flatMap(({ reason }) => (reason === "" ? [] : [reason])))];
  const sign = ({ reason }: Cell): string => (reason === "" ? "+" : String(reasons.indexOf(reason) + 1));
  const rows = tools.map(({ name }) => {
    const of = (kind: AgentKind) => cells.filter((cell) => cell.tool === name && cell.kind === kind).map(sign);
    return `| \`${name}\` | ${AGENT_KINDS.map((kind) => of(kind).join(" ")).join(" | ")} |`;
  });
  return [
    `${tools.length} tools, ${AGENT_KINDS.length} kinds of agents, ${ROLES.length} roles: ${cells.length} cells.`,
    "",
    `| tool | ${AGENT_KINDS.join(" | ")} |`,
    `| --- |${" --- |".repeat(AGENT_KINDS.length)}`,
    ...rows,
    "",
    ...reasons.map((reason, index) => `${index + 1}. ${reason}`),
  ].join("\n");
}

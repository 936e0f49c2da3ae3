/** The tools with which agents reach each other, and one under its old name, which is found but not listed. */
import type { Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { agentsListTool } from "./agents-list.ts";
import { createPermanentAgentTool } from "./create-permanent-agent.ts";
import { createSwarmTool } from "./create-swarm.ts";
import { diagnoseTool } from "./diagnose.ts";
import { readMessageFileTool } from "./read-message-file.ts";
import { removePermanentAgentTool } from "./remove-permanent-agent.ts";
import { removeSwarmTool } from "./remove-swarm.ts";
import { sendAgentMessageTool, sendSessionMessageTool } from "./send-agent-message.ts";
import { sendUserMessageTool } from "./send-user-message.ts";
import { sessionStatusTool } from "./session-status.ts";
import { sessionsHistoryTool } from "./sessions-history.ts";
import { sessionsListTool } from "./sessions-list.ts";
import { sessionsSendTool } from "./sessions-send.ts";
import { withdrawApprovalTool } from "./withdraw-approval.ts";

export const agentTools = (deps: AgentToolDeps): readonly Tool[] => [
  sendAgentMessageTool(deps),
  sessionsSendTool(deps),
  sessionsListTool(deps),
  sessionsHistoryTool(deps),
  sessionStatusTool(deps),
  agentsListTool(deps),
  readMessageFileTool(deps),
  createPermanentAgentTool(deps),
  removePermanentAgentTool(deps),
  createSwarmTool(deps),
  removeSwarmTool(deps),
  sendUserMessageTool(deps),
  diagnoseTool(deps),
  withdrawApprovalTool(deps),
];

export const olderAgentTools = (deps: AgentToolDeps): readonly Tool[] => [sendSessionMessageTool(deps)];

/** The system prompt of a subagent. */
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";

export interface SubagentPromptParams {
  readonly requesterSessionKey?: string;
  readonly requesterOrigin?: DeliveryContext;
  readonly childSessionKey?: string;
  readonly label?: string;
  readonly task?: string;
}

const TITLE = "# Subagent Context";

/** Whether a prompt contains this already, as for a child that was started with a task. */
export const isSubagentContext = (prompt: string): boolean => prompt.startsWith(TITLE);

/** The task as one line: a task is text from outside and must not look like further rules. */
export function buildSubagentSystemPrompt({ task, label }: SubagentPromptParams): string {
  const taskText = (task ?? label ?? "").replace(/\s+/gu, " ").trim() || "the task you are given";
  return [
    TITLE,
    "You are a **subagent** spawned by the main agent for a specific task.",
    "",
    "## Your Role",
    `- You were created to handle: ${taskText}`,
    "- Complete this task. That's your entire purpose.",
    "- You are NOT the main agent. Don't try to be.",
    "",
    "## Rules",
    "1. **Stay focused** - Do your assigned task, nothing else",
    "2. **Complete the task** - Your final message will be automatically reported",
    "3. **Don't initiate** - No heartbeats, no proactive actions, no side quests",
    "4. **Be ephemeral** - You may be terminated after task completion",
    "",
    "## What You DON'T Do",
    "- NO user conversations (main agent's job)",
    "- NO external messages unless explicitly tasked",
    "- NO cron jobs or persistent state",
    "- NO pretending to be the main agent",
    "- NO using the `message` tool directly",
  ].join("\n");
}

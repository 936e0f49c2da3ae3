/** The two tools that start a child: clawdbot's `sessions_spawn` and daycare's `start_background_agent`. */
import { z } from "zod";
import { DeniedError, InvalidInputError } from "../../../core/errors.ts";
import { DEFAULT_MAX_OUTPUT, type Tool, type ToolOutput } from "../../../core/ports/tool.ts";
import { permissionsOf } from "../../../engine/subagents/permissions.ts";
import type { Subagents } from "../../../engine/subagents/subagents.ts";

const seconds = (about: string) => z.number().min(0).optional().describe(about);

export const SessionsSpawnToolSchema = z.strictObject({
  task: z.string().trim().min(1).describe("what the child is to do, with everything it needs to know"),
  label: z.string().optional().describe("what the child is called when it reports"),
  agentId: z.string().optional().describe("the profile the child speaks as; absent: your own"),
  model: z.string().optional(),
  thinking: z.string().optional(),
  runTimeoutSeconds: seconds("how long the child may take; 0: as long as any run"),
  timeoutSeconds: seconds("an older name of runTimeoutSeconds"),
  cleanup: z.enum(["delete", "keep"]).optional().describe("whether the child is deleted after its report"),
});

/** Returns at once. The child reports when it is done. */
export function createSessionsSpawnTool(subagents: () => Subagents): Tool<z.infer<typeof SessionsSpawnToolSchema>> {
  return {
    name: "sessions_spawn",
    description:
      "Start a background child in a session of its own. Returns at once; the child's result is reported to you by itself when it is done.",
    input: SessionsSpawnToolSchema,
    rights: ["spawn"],
    // The child starts with the commit of the result, so an interrupted call can be repeated.
    replay: "safe",
    parallel: false,
    maxOutput: DEFAULT_MAX_OUTPUT,
    async execute({ timeoutSeconds, ...input }, { agent, delivery, person }): Promise<ToolOutput> {
      const { result, ops } = await subagents().spawn({
        ...input,
        runTimeoutSeconds: input.runTimeoutSeconds ?? timeoutSeconds,
        tool: "sessions_spawn",
        requester: agent,
        origin: delivery,
        person,
      });
      return { content: [{ type: "text", text: JSON.stringify(result, null, 2) }], ops };
    },
  };
}

const startBackgroundAgentInput = z.strictObject({
  prompt: z.string().describe("what the agent is to do, with everything it needs to know"),
  name: z.string().optional(),
  permissions: z
    .array(z.string())
    .min(1)
    .optional()
    .describe("permissions of yours it gets, each @network, @read:<dir> or @write:<dir>"),
  model: z.string().optional(),
});

export function startBackgroundAgentTool(subagents: () => Subagents): Tool<z.infer<typeof startBackgroundAgentInput>> {
  return {
    name: "start_background_agent",
    description:
      "Start a background agent with a task. Returns its id at once; its result is reported to you by itself when it is done.",
    input: startBackgroundAgentInput,
    rights: ["spawn"],
    replay: "safe",
    parallel: false,
    maxOutput: DEFAULT_MAX_OUTPUT,
    async execute({ prompt, name, permissions, model }, { agent, delivery, person }): Promise<ToolOutput> {
      if (prompt.trim() === "") throw new InvalidInputError("Background agent prompt is required");
      const { result, ops, childId } = await subagents().spawn({
        tool: "start_background_agent",
        requester: agent,
        origin: delivery,
        person,
        task: prompt,
        label: name,
        model,
        permissions: permissionsOf(permissions ?? [], agent.state.permissions),
      });
      if (result.status !== "accepted") throw new DeniedError(result.error);
      const warning = result.warning === undefined ? "" : ` ${result.warning}`;
      return { content: [{ type: "text", text: `Background agent started: ${childId}.${warning}` }], ops };
    },
  };
}

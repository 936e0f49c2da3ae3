/**
 * `remove_permanent_agent`: removes a permanent agent for good. The commit of the tool's result marks it, so that nothing new
 * begins there. Waiting messages are settled as removed (L1), and the name is free again when the agent is idle. Its history
 * stays.
 */
import { z } from "zod";
import { NotFoundError } from "../../../core/errors.ts";
import { DEFAULT_MAX_OUTPUT, type Tool } from "../../../core/ports/tool.ts";
import { checkAllowed } from "../allowed-effects.ts";
import { effectsOn, effectsOnFound } from "./agent-effects.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { findTarget } from "./find-target.ts";
import { textOutput } from "./json-output.ts";

const input = z.strictObject({ agentId: z.string().describe("The permanent agent, by its name or its id") });

const EFFECT = { action: "remove_permanent_agent", rights: ["spawn"] } as const;

export const removePermanentAgentTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "remove_permanent_agent",
  description: "Removes a permanent agent for good; messages that wait for it are not answered.",
  input,
  rights: ["spawn"],
  replay: "safe",
  parallel: false,
  maxOutput: DEFAULT_MAX_OUTPUT,
  effects: ({ agentId }, context) =>
    effectsOnFound(deps, context, () => findTarget(deps, context.agent, agentId), EFFECT),
  async execute({ agentId: written }, context) {
    const { clock } = deps;
    const { agent: from } = context;
    const { agent } = await findTarget(deps, from, written);
    if (agent?.descriptor.type !== "permanent") throw new NotFoundError(`Permanent agent not found: ${written}`);
    checkAllowed(context, await effectsOn(deps, context, { agent }, EFFECT));
    const { id: agentId, descriptor } = agent;
    const at = clock.now();
    return {
      ...textOutput(`Permanent agent removed: ${agentId} (name: ${descriptor.name}).`),
      ops: [
        { op: "agent.stop", agentId, mark: { at, reason: `removed by ${from.id}`, removing: true } },
        { op: "approval.withdraw", of: { agentId }, reason: `the agent was removed by ${from.id}` },
        // Wakes the agent, which removes itself.
        { op: "message.post", to: { agentId }, message: { body: { kind: "stop" }, acceptedAt: at } },
      ],
    };
  },
});

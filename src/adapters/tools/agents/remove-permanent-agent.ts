/**
 * `remove_permanent_agent`: removes a permanent agent for good. The commit of the tool's result marks it, so that nothing new
 * begins there. Waiting messages are settled as removed (L1), and the name is free again when the agent is idle. Its history
 * stays.
 */
import { z } from "zod";
import { DeniedError, NotFoundError } from "../../../core/errors.ts";
import { DEFAULT_MAX_OUTPUT, type Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { OWNER_ONLY } from "./create-permanent-agent.ts";
import { findTarget } from "./find-target.ts";
import { textOutput } from "./json-output.ts";
import { worksForOwner } from "./relations.ts";

const input = z.object({ agentId: z.string().describe("The permanent agent, by its name or its id") });

export const removePermanentAgentTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "remove_permanent_agent",
  description: "Removes a permanent agent for good; messages that wait for it are not answered.",
  input,
  rights: ["spawn"],
  replay: "safe",
  parallel: false,
  maxOutput: DEFAULT_MAX_OUTPUT,
  async execute({ agentId: written }, { agent: from }) {
    const { store, config, clock } = deps;
    if (!(await worksForOwner(store, config.owner, from))) throw new DeniedError(OWNER_ONLY);
    const { agent } = await findTarget(deps, from, written);
    if (agent?.descriptor.type !== "permanent") throw new NotFoundError(`Permanent agent not found: ${written}`);
    const { id: agentId, descriptor } = agent;
    const at = clock.now();
    return {
      ...textOutput(`Permanent agent removed: ${agentId} (name: ${descriptor.name}).`),
      ops: [
        { op: "agent.stop", agentId, mark: { at, reason: `removed by ${from.id}`, removing: true } },
        // Wakes the agent, which removes itself.
        { op: "message.post", to: { agentId }, message: { body: { kind: "stop" }, acceptedAt: at } },
      ],
    };
  },
});

/**
 * `remove_swarm`: takes a swarm's name back, with all its agents. From the commit of the tool's result on nobody reaches them;
 * they are removed as they come to rest, their histories are kept.
 */
import { z } from "zod";
import { DeniedError } from "../../../core/errors.ts";
import { DEFAULT_MAX_OUTPUT, type Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { textOutput } from "./json-output.ts";
import { isOwners } from "./relations.ts";

const input = z.object({ nametag: z.string().describe("The swarm's name") });

export const removeSwarmTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "remove_swarm",
  description: "Takes a swarm's name back and removes the agents behind it; what waits for them is not answered.",
  input,
  rights: ["spawn"],
  replay: "safe",
  parallel: false,
  maxOutput: DEFAULT_MAX_OUTPUT,
  async execute({ nametag: written }, { agent }) {
    if (!(await isOwners(deps.store, deps.config.owner, agent)))
      throw new DeniedError("Only the owner user can remove swarms.");
    const nametag = written.trim().replace(/^@/u, "").toLowerCase();
    return { ...textOutput(`Swarm removed: @${nametag}.`), ops: await deps.removeSwarm(nametag, agent.id) };
  },
});

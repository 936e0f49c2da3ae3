/**
 * `remove_swarm`: removes a swarm and all its agents. They are unreachable from the commit of the tool's result on; each is
 * removed when it is idle. Their histories stay.
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
  description: "Removes a swarm and the agents behind it; messages that wait for them are not answered.",
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

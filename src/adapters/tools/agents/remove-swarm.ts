/**
 * `remove_swarm`: removes a swarm and all its agents. They are unreachable from the commit of the tool's result on; each is
 * removed when it is idle. Their histories stay.
 */
import { z } from "zod";
import { OWNER } from "../../../core/people/person.ts";
import { DEFAULT_MAX_OUTPUT, type Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { textOutput } from "./json-output.ts";

const input = z.strictObject({ nametag: z.string().describe("The swarm's name") });

const nameIn = (written: string): string => written.trim().replace(/^@/u, "").toLowerCase();

export const removeSwarmTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "remove_swarm",
  description: "Removes a swarm and the agents behind it; messages that wait for them are not answered.",
  input,
  rights: ["spawn"],
  replay: "safe",
  parallel: false,
  maxOutput: DEFAULT_MAX_OUTPUT,
  effects: ({ nametag }) => [
    { action: "remove_swarm", rights: ["spawn"], target: `swarm:${nameIn(nametag)}`, of: OWNER },
  ],
  async execute({ nametag: written }, { agent }) {
    const nametag = nameIn(written);
    return { ...textOutput(`Swarm removed: @${nametag}.`), ops: await deps.removeSwarm(nametag, agent.id) };
  },
});

/** `agents_list`: the profiles an agent may start agents with, and the agents it can write to by name. Reads only. */
import { z } from "zod";
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { jsonOutput } from "./json-output.ts";

const MAX_LISTED = 200;

const input = z.strictObject({});

export const agentsListTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "agents_list",
  description: "Lists the profiles you may start agents as, and the agents you can write to by name.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 40_000,
  async execute(_, { agent }) {
    const { store, maySpawnAs, systemAgents } = deps;
    const { profiles: configured } = deps.settings.current;
    const profiles = [...new Set([agent.profile, DEFAULT_PROFILE, ...Object.keys(configured)])];
    const allowed = profiles.filter((profile) => profile === agent.profile || maySpawnAs(agent, profile));
    const permanent = await store.agentsOfKind("permanent", { limit: MAX_LISTED });
    const swarms = await store.swarms({ limit: MAX_LISTED });
    return jsonOutput({
      requester: agent.profile,
      agents: allowed.map((id) => ({ id, configured: Object.hasOwn(configured, id) })),
      permanent: permanent.flatMap(({ id, descriptor, stopped }) =>
        descriptor.type === "permanent" && !stopped
          ? [{ id, name: descriptor.name, description: descriptor.description }]
          : [],
      ),
      system: systemAgents(),
      swarms: swarms.map(({ nametag, firstName, lastName, bio }) => ({ nametag, firstName, lastName, bio })),
    });
  },
});

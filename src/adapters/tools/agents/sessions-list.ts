/** `sessions_list`: the sessions an agent may see, newest first. Reads only. */
import { z } from "zod";
import { AGENT_KINDS } from "../../../core/agent/descriptor.ts";
import type { Tool } from "../../../core/ports/tool.ts";
import type { AgentToolDeps } from "./agent-tool-deps.ts";
import { jsonOutput } from "./json-output.ts";
import { sessionRow } from "./session-row.ts";
import { visibleAgents } from "./visible-agents.ts";

const MAX_LISTED = 200;
const DEFAULT_LISTED = 50;

const input = z.strictObject({
  kinds: z.array(z.enum(AGENT_KINDS)).optional().describe("Only agents of these kinds"),
  limit: z.int().min(1).max(MAX_LISTED).optional().describe(`How many; ${DEFAULT_LISTED} if left out`),
  activeMinutes: z.number().min(0).optional().describe("Only those that did something within so many minutes"),
});

export const sessionsListTool = (deps: AgentToolDeps): Tool<z.infer<typeof input>> => ({
  name: "sessions_list",
  description: "Lists other sessions: who they are, whether they work, what waits.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 60_000,
  async execute({ kinds, limit = DEFAULT_LISTED, activeMinutes }, context) {
    const since = activeMinutes === undefined ? 0 : deps.clock.now() - activeMinutes * 60_000;
    const agents = await visibleAgents(deps, context, limit, (agent) => {
      if (kinds && !kinds.includes(agent.descriptor.type)) return false;
      return sessionRow(agent).updatedAt >= since;
    });
    return jsonOutput({ count: agents.length, sessions: agents.map(sessionRow) });
  },
});

/** What entered the last turn of a conversation. Everyone sees their own. */
import { z } from "zod";
import { turnMemory } from "../../../engine/context/turn-memory.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { turnMemorySchema } from "../schemas/agent.ts";
import { agentParams, requireAgent } from "./params.ts";

const memoryRoute = defineRoute({
  name: "getAgentMemory",
  method: "GET",
  path: "/api/agents/:agent/memory",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "agents",
  summary: "What entered an agent's last turn: the parts of its prompt, what did not fit, and what it looked up",
  params: agentParams,
  output: z.strictObject({ turn: turnMemorySchema.nullable().describe("Null before the first turn.") }),
  async handle(call) {
    const agent = await requireAgent(call, call.params.agent);
    return { json: { turn: (await turnMemory(call.context.ports.store, agent)) ?? null } };
  },
});

export const memoryRoutes: readonly Route[] = [memoryRoute];

/**
 * A swarm is an agent that is published under a name. Each contact gets a separate agent behind that name, so contacts never
 * share a context. The directory of contacts lists who the swarm may write to.
 */
import { z } from "zod";
import type { AgentId } from "../ids.ts";

export const nametagSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,79}$/, "A nametag is lower case letters, digits, dashes and underscores, 80 at most.");

export const swarmRecordSchema = z.looseObject({
  /** The name it is published under. */
  nametag: nametagSchema,
  /** The agent of the person it belongs to. */
  owner: z.string().min(1),
  /** The profile of its agents: model, limits, workspace. */
  profile: z.string().min(1),
  firstName: z.string().min(1),
  lastName: z.string().optional(),
  bio: z.string().optional(),
  about: z.string().optional(),
  systemPrompt: z.string().min(1),
  /** Whether its agents see the memory of the profile. */
  memory: z.boolean(),
  createdAt: z.number().int(),
});
export type SwarmRecord = z.infer<typeof swarmRecordSchema>;

/** An agent that has contacted a swarm. */
export interface SwarmContact {
  readonly swarm: string;
  /** The root of the tree of the agent that contacted it: the person's own agent. */
  readonly contact: AgentId;
  /** The swarm's agent for this contact, once it exists. */
  readonly agentId?: AgentId;
  readonly messagesSent: number;
  readonly messagesReceived: number;
  readonly firstContactAt: number;
  readonly lastContactAt: number;
}

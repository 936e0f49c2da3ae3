/**
 * A swarm is an agent that is published under a name. Whoever contacts it gets an agent of its own behind that name, so that
 * contacts never share a context; the directory of contacts says who may be written to.
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
  /** Who its agents speak as: model, limits, workspace. */
  profile: z.string().min(1),
  firstName: z.string().min(1),
  lastName: z.string().optional(),
  bio: z.string().optional(),
  about: z.string().optional(),
  systemPrompt: z.string().min(1),
  /** Whether its agents see what the profile remembers. */
  memory: z.boolean(),
  createdAt: z.number().int(),
});
export type SwarmRecord = z.infer<typeof swarmRecordSchema>;

/** One who has contacted a swarm. */
export interface SwarmContact {
  readonly swarm: string;
  /** The agent that contacted it, at the top of its tree: the person's own. */
  readonly contact: AgentId;
  /** The swarm's agent that serves this contact, once it is there. */
  readonly agentId?: AgentId;
  readonly messagesSent: number;
  readonly messagesReceived: number;
  readonly firstContactAt: number;
  readonly lastContactAt: number;
}

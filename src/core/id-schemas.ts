/** Schemas of ids in files and requests. Separate from the ids themselves, which need no library. */
import { z } from "zod";
import { AGENT_ID, type AgentId, type SessionId, type SessionKey, UUID } from "./ids.ts";

export const agentIdSchema = z
  .string()
  .regex(AGENT_ID, "Agent id must be a cuid2 value.")
  .transform((id) => id as AgentId);
export const sessionIdSchema = z
  .string()
  .regex(UUID, "Session id must be a uuid.")
  .transform((id) => id as SessionId);
export const sessionKeySchema = z
  .string()
  .min(1)
  .transform((key) => key as SessionKey);

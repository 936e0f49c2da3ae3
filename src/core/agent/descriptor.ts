/**
 * What an agent is: one of seven kinds. Written once when the agent is created, restored as it was written, and never derived
 * from other data. Only the kind `user` is foreground.
 */
import { z } from "zod";
import { CorruptDataError } from "../errors.ts";

const text = z.string().min(1);

export const agentDescriptorSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("user"),
    connector: text,
    userId: text,
    channelId: text,
    accountId: text.optional(),
    peerKind: z.enum(["dm", "group", "channel"]).optional(),
    threadId: z.union([text, z.number().int()]).optional(),
  }),
  z.strictObject({ type: z.literal("cron"), id: text, name: text.optional() }),
  z.strictObject({ type: z.literal("heartbeat") }),
  z.strictObject({
    type: z.literal("system"),
    tag: z.string().regex(/^[a-z]+$/, "system tag must be lowercase english letters"),
  }),
  z.strictObject({ type: z.literal("subagent"), id: text, parentAgentId: text, name: text }),
  z.strictObject({ type: z.literal("swarm"), id: text, contact: text }),
  z.strictObject({
    type: z.literal("permanent"),
    id: text,
    name: text,
    description: text,
    systemPrompt: text,
    workspaceDir: text.optional(),
    username: text.optional(),
  }),
]);
export type AgentDescriptor = z.infer<typeof agentDescriptorSchema>;
export type AgentKind = AgentDescriptor["type"];
export const AGENT_KINDS = ["user", "cron", "heartbeat", "system", "subagent", "swarm", "permanent"] as const;

/** How an agent is found without its id. */
export const agentFetchStrategySchema = z.enum(["most-recent-foreground", "heartbeat"]);
export type AgentFetchStrategy = z.infer<typeof agentFetchStrategySchema>;

/** Reads a stored descriptor. A wrong shape is an error; no other one is assumed. */
export function parseDescriptor(value: unknown, where: string): AgentDescriptor {
  const result = agentDescriptorSchema.safeParse(value);
  if (result.success) return result.data;
  throw new CorruptDataError(`The descriptor in ${where} is not valid: ${z.prettifyError(result.error)}`, {
    hint: "The agent was not changed. Restore its descriptor from a backup, or remove the agent.",
  });
}

export const isForeground = (descriptor: AgentDescriptor): boolean => descriptor.type === "user";

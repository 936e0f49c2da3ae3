/** The record of one spawned child: who asked, what for, how it ended. Persisted as clawdbot's registry, version 2. */
import { z } from "zod";
import { deliveryContextSchema } from "../delivery/delivery.ts";

export const subagentRunOutcomeSchema = z.object({
  status: z.enum(["ok", "error", "timeout", "unknown"]),
  error: z.string().optional(),
});
export type SubagentRunOutcome = z.infer<typeof subagentRunOutcomeSchema>;

export const subagentRunRecordSchema = z.looseObject({
  runId: z.string().min(1),
  childSessionKey: z.string().min(1),
  requesterSessionKey: z.string().min(1),
  requesterOrigin: deliveryContextSchema.optional(),
  requesterDisplayKey: z.string(),
  task: z.string(),
  cleanup: z.enum(["delete", "keep"]),
  label: z.string().optional(),
  createdAt: z.number().int(),
  startedAt: z.number().int().optional(),
  endedAt: z.number().int().optional(),
  outcome: subagentRunOutcomeSchema.optional(),
  archiveAtMs: z.number().int().optional(),
  cleanupCompletedAt: z.number().int().optional(),
  cleanupHandled: z.boolean().optional(),
  /** By their ids, which outlive their addresses. */
  childAgentId: z.string().optional(),
  requesterAgentId: z.string().optional(),
  /** The agent that was told, or why nobody was (M19). */
  reportedTo: z.string().optional(),
  reportDropped: z.string().optional(),
});
export type SubagentRunRecord = z.infer<typeof subagentRunRecordSchema>;

/** The form of `subagents/runs.json`. */
export interface PersistedSubagentRegistry {
  readonly version: 2;
  readonly runs: Readonly<Record<string, SubagentRunRecord>>;
}

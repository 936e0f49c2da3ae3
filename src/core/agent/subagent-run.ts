/** The record of one spawned child: its requester, its task, its outcome. Persisted as clawdbot's registry, version 2. */
import { z } from "zod";
import { deliveryContextSchema } from "../delivery/delivery.ts";
import { behalfSchema } from "../people/behalf.ts";

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
  /** Agent ids, which stay valid when a session key is reused. */
  childAgentId: z.string().optional(),
  requesterAgentId: z.string().optional(),
  /** Who it was started for. A report that no run of the child makes is for the same people. */
  behalf: behalfSchema.optional(),
  /** The agent that got the report, or why none did (M19). */
  reportedTo: z.string().optional(),
  reportDropped: z.string().optional(),
});
export type SubagentRunRecord = z.infer<typeof subagentRunRecordSchema>;

/** The format of `subagents/runs.json`. */
export interface PersistedSubagentRegistry {
  readonly version: 2;
  readonly runs: Readonly<Record<string, SubagentRunRecord>>;
}

/** Runs on the wire: the record, its result, and its timeline. */

import { z } from "zod";
import { systemPromptReportSchema } from "../../../core/agent/system-prompt-report.ts";
import { deliveryContextSchema, payloadSchema } from "../../../core/delivery/delivery.ts";
import { entrySchema } from "../../../core/history/entry.ts";
import { compactResultSchema } from "../../../core/run/compact-result.ts";
import { pendingToolCallSchema, runBodySchema, runErrorSchema, runOutcomeSchema } from "../../../core/run/run.ts";
import type { Document } from "./document.ts";
import { agentNameSchema } from "./names.ts";

const abortMarkSchema = z
  .strictObject({ reason: z.enum(["interrupt", "person", "reset", "stop", "timeout"]), at: z.number() })
  .meta({ id: "AbortMark" });

export const runRecordSchema = z
  .strictObject({
    id: z.string(),
    agentId: z.string(),
    agentName: agentNameSchema,
    about: z.string().optional().describe("The first words of what it works on."),
    sessionId: z.string(),
    state: z.enum(["ended", "open"]),
    attempt: z
      .number()
      .describe("Counts starts without a newly committed step in between. From the third one on the run is a suspect."),
    step: z.number().describe("Counts committed steps."),
    startedAt: z.number(),
    endedAt: z.number().optional(),
    outcome: runOutcomeSchema.optional(),
    abort: abortMarkSchema.optional().describe("A request to end the run; checked by every commit of a step."),
    body: runBodySchema,
  })
  .meta({ id: "RunRecord" });

const agentMetaSchema = z
  .strictObject({
    sessionId: z.string(),
    provider: z.string(),
    model: z.string(),
    usage: z
      .strictObject({
        input: z.number().optional(),
        output: z.number().optional(),
        cacheRead: z.number().optional(),
        cacheWrite: z.number().optional(),
        total: z.number().optional(),
      })
      .optional(),
  })
  .meta({ id: "AgentMeta" });

const runMetaSchema = z
  .strictObject({
    durationMs: z.number(),
    aborted: z.boolean(),
    agentMeta: agentMetaSchema.optional(),
    systemPromptReport: systemPromptReportSchema.optional().describe("The parts of the prompt of its last model call."),
    error: runErrorSchema.optional(),
    stopReason: z.string().optional(),
    compaction: compactResultSchema.optional().describe("Only for a run that was opened to compact."),
    pendingToolCalls: z.array(pendingToolCallSchema),
  })
  .meta({ id: "RunMeta" });

export const runResultSchema = z
  .strictObject({
    runId: z.string(),
    agentId: z.string(),
    outcome: runOutcomeSchema,
    payloads: z.array(payloadSchema),
    meta: runMetaSchema,
    didSendViaMessagingTool: z.boolean(),
    messagingToolSentTexts: z.array(z.string()),
    messagingToolSentTargets: z.array(deliveryContextSchema),
  })
  .meta({ id: "RunResult" });

export const runWaitSchema = z
  .union([
    z.strictObject({ status: z.literal("ended"), outcome: runOutcomeSchema, result: runResultSchema.optional() }),
    z.strictObject({
      status: z.literal("timeout"),
      state: z.enum(["active", "compacting", "ended", "queued", "streaming", "suspended"]),
    }),
    z.strictObject({ status: z.literal("unknown") }),
  ])
  .meta({ id: "RunWait" });

export const promptPartSchema = z
  .strictObject({
    part: z.string(),
    source: z.string(),
    tokens: z.number(),
    cutFrom: z.number().optional(),
    untrusted: z.literal(true).optional(),
  })
  .meta({ id: "PromptPart" });
export type PromptPart = Document<typeof promptPartSchema>;

export const placedEntrySchema = z
  .strictObject({ position: z.number(), entry: entrySchema })
  .meta({ id: "PlacedEntry" });

/** Messages on the wire: what waits, how each ended, and its answer. */

import { z } from "zod";
import { messageStateSchema, newMessageSchema } from "../../../core/message/message.ts";
import { pendingToolCallSchema } from "../../../core/run/run.ts";
import type { Document } from "./document.ts";
import { agentNameSchema } from "./names.ts";

export const acceptedSchema = z
  .strictObject({ agentId: z.string(), seq: z.number(), messageId: z.string() })
  .meta({ id: "Accepted" });

export const unansweredMessageSchema = z
  .strictObject({
    seq: z.number().describe("Its number in the inbox of its agent."),
    kind: z.enum([
      "branch",
      "command",
      "compact",
      "describe",
      "permission",
      "report",
      "reset",
      "restore",
      "setting",
      "stop",
      "subagents",
      "system",
      "trigger",
      "user",
    ]),
    text: z.string().describe("At most 2,000 characters."),
    state: z.enum(["aborted", "discarded", "dropped", "failed"]),
    reason: z.string().optional().describe("The error, the policy that dropped it, or who stopped it."),
    runId: z.string().optional().describe("The run that took it, or was about to."),
    acceptedAt: z.number(),
    settledAt: z.number().optional(),
  })
  .meta({ id: "UnansweredMessage" });

export const whatWaitsSchema = z
  .strictObject({
    agentId: z.string(),
    run: z
      .strictObject({
        id: z.string(),
        state: z.enum(["active", "compacting", "ended", "queued", "streaming", "suspended"]),
      })
      .optional(),
    waiting: z.array(
      z.strictObject({
        seq: z.number(),
        kind: z.string(),
        text: z.string(),
        acceptedAt: z.number(),
        mode: z.string(),
        will: z.string().describe("Its next state, as a sentence."),
      }),
    ),
    dropped: z
      .array(z.strictObject({ seq: z.number(), policy: z.string(), text: z.string() }))
      .describe("The newest messages that the queue dropped, each with its policy."),
    unanswered: z
      .array(unansweredMessageSchema)
      .describe("The newest messages that failed, were stopped or were dropped, each with its reason and its run."),
  })
  .meta({ id: "WhatWaits" });

const failedTriesSchema = z
  .strictObject({ times: z.number(), reason: z.string(), nextAt: z.number() })
  .meta({ id: "FailedTries" });

export const messageSchema = newMessageSchema
  .unwrap()
  .extend({
    id: z.string(),
    agentId: z.string(),
    seq: z.number(),
    state: messageStateSchema,
    runId: z.string().optional().describe("The run that took it, or into whose prompt it was merged."),
    reason: z
      .string()
      .optional()
      .describe("Why it ended, if the state alone does not say it: the drop policy, an error."),
    settledAt: z.number().optional(),
    tried: failedTriesSchema.optional(),
  })
  .meta({ id: "Message" });

export const answerSchema = z
  .strictObject({
    agentId: z.string(),
    seq: z.number(),
    runId: z.string().optional(),
    outcome: z.enum([
      "aborted",
      "discarded",
      "dropped",
      "error",
      "lost",
      "ok",
      "pruned",
      "recorded",
      "removed",
      "timeout",
    ]),
    text: z.string(),
    error: z
      .strictObject({
        kind: z.enum([
          "attempts",
          "budget",
          "compaction_failure",
          "context_overflow",
          "internal",
          "model",
          "queue",
          "role_ordering",
          "timeout",
          "tool_limit",
        ]),
        message: z.string(),
        retryable: z.boolean().optional(),
      })
      .optional(),
    stopReason: z.string().optional(),
    calls: z.array(pendingToolCallSchema).optional().describe("Calls of tools that the caller executes."),
    usage: z
      .strictObject({
        input: z.number(),
        output: z.number(),
        cacheRead: z.number(),
        cacheWrite: z.number(),
        totalTokens: z.number(),
      })
      .optional(),
  })
  .meta({ id: "Answer" });
export type Answer = Document<typeof answerSchema>;

export const terminalReplySchema = z
  .strictObject({ text: z.string(), isError: z.boolean() })
  .meta({ id: "TerminalReply" });
export type TerminalReply = Document<typeof terminalReplySchema>;

export const inboxMessageSchema = z
  .strictObject({
    agentId: z.string(),
    agentName: agentNameSchema,
    sessionKey: z.string(),
    seq: z.number(),
    kind: z.string(),
    text: z.string(),
    state: messageStateSchema,
    will: z.string().optional().describe("Its next state, if it waits."),
    reason: z.string().optional().describe("Why it ended: the error, the policy that dropped it, or who stopped it."),
    acceptedAt: z.number(),
    settledAt: z.number().optional(),
    runId: z.string().optional(),
  })
  .meta({ id: "InboxMessage" });
export type InboxMessage = Document<typeof inboxMessageSchema>;

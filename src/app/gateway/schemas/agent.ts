/** Agents on the wire: lists, one agent, its transcript, its tree and what its last turn was made of. */

import { z } from "zod";
import { agentDescriptorSchema } from "../../../core/agent/descriptor.ts";
import { agentStateSchema, tokenSizeSchema } from "../../../core/agent/state.ts";
import { subagentRunOutcomeSchema } from "../../../core/agent/subagent-run.ts";
import { entrySchema } from "../../../core/history/entry.ts";
import { queueModeSchema } from "../../../core/message/queue.ts";
import type { Document } from "./document.ts";
import { unansweredMessageSchema } from "./message.ts";
import { agentNameSchema } from "./names.ts";

const stopMarkSchema = z
  .strictObject({
    at: z.number(),
    reason: z.string(),
    seq: z
      .number()
      .optional()
      .describe(
        "The sequence of the next message: one with this or a later sequence came after the stop. Set by the store.",
      ),
    removing: z
      .literal(true)
      .optional()
      .describe("The agent is removed for good as soon as it rests. Its waiting messages are settled as removed."),
    removed: z
      .literal(true)
      .optional()
      .describe(
        "The agent was removed: its address is free, its inbox accepts nothing, its history is deleted or kept. Final.",
      ),
  })
  .meta({ id: "StopMark" });

export const agentSummarySchema = z
  .strictObject({
    id: z.string(),
    name: z.string().describe("Agents of one name get a suffix."),
    sessionKey: z.string(),
    kind: z.enum(["cron", "heartbeat", "permanent", "subagent", "swarm", "system", "user"]),
    profile: z.string(),
    descriptor: agentDescriptorSchema,
    sessionId: z.string(),
    waiting: z.number(),
    runId: z.string().nullable(),
    lastHumanAt: z.number().nullable(),
    updatedAt: z.number(),
    createdAt: z.number(),
    stopped: stopMarkSchema.nullable(),
    node: z.number().nullable(),
  })
  .meta({ id: "AgentSummary" });

export type AgentSummary = Document<typeof agentSummarySchema>;

export const conversationSchema = agentSummarySchema
  .extend({
    channel: z.string(),
    person: z.string().optional(),
    last: z
      .strictObject({ role: z.enum(["assistant", "user"]), text: z.string(), at: z.number() })
      .nullable()
      .describe("The latest text."),
  })
  .meta({ id: "Conversation" });

export const agentDetailsSchema = agentSummarySchema
  .extend({
    phase: z.enum(["active", "idle", "new"]),
    cursor: z.number(),
    nextSeq: z.number(),
    nextPos: z.number(),
    leaf: z.string(),
    epoch: z.number(),
    state: agentStateSchema,
  })
  .meta({ id: "AgentDetails" });

export const foundTextSchema = z
  .strictObject({
    source: z.enum(["conversation", "note"]),
    ref: z.string().describe("To read on from here: `chat:<agent>#<position>` or `note:<path>#<line>`."),
    speaker: z.enum(["assistant", "note", "user"]),
    at: z.number().describe("When it was said; for a note, when its file was changed. In milliseconds."),
    snippet: z.string(),
    score: z.number().describe("Higher is better; comparable within one answer only."),
    agentId: z.string().optional(),
    agentName: agentNameSchema,
    sessionKey: z.string().optional(),
    position: z.number().optional(),
    path: z.string().optional(),
    line: z.number().optional(),
    untrusted: z.string().optional().describe("Where its text came from, if not from its person."),
  })
  .meta({ id: "FoundText" });

export const sessionSchema = z
  .strictObject({
    key: z.string(),
    agentId: z.string(),
    name: z.string(),
    kind: z.enum(["cron", "heartbeat", "permanent", "subagent", "swarm", "system", "user"]),
    profile: z.string(),
    sessionId: z.string(),
    updatedAt: z.number(),
    lastInteractionAt: z.number().nullable(),
    lastHumanAt: z.number().nullable(),
    waiting: z.number(),
    runId: z.string().nullable(),
    model: z.string().nullable(),
    tokens: tokenSizeSchema.nullable(),
    queueMode: queueModeSchema.nullable(),
    thinkingLevel: z.string().nullable(),
  })
  .meta({ id: "Session" });

const skippedLineSchema = z.strictObject({ line: z.number(), reason: z.string() }).meta({ id: "SkippedLine" });

export const transcriptSchema = z
  .strictObject({
    name: z.string().describe("`<sessionId>.jsonl`, for a thread `<sessionId>-topic-<threadId>.jsonl`."),
    text: z.string(),
    skipped: z.array(skippedLineSchema).describe("Lines that could not be written, counted from 1."),
  })
  .meta({ id: "Transcript" });

export const permanentAgentSchema = z
  .strictObject({
    agentId: z.string(),
    sessionKey: z.string(),
    created: z.boolean().describe("False: it exists and is changed in the order of its inbox."),
  })
  .meta({ id: "PermanentAgent" });

export const leftBehindSchema = z
  .strictObject({
    agentId: z.string(),
    agentName: agentNameSchema,
    person: z.string().optional(),
    from: z.string(),
    to: z.string(),
    lastHumanAt: z.number().optional(),
    stays: z.enum(["begun", "older", "shared"]).optional().describe("Absent: it can be carried over."),
  })
  .meta({ id: "LeftBehind" });

const turnPartSchema = z
  .strictObject({
    part: z.string(),
    source: z.string(),
    characters: z.number(),
    tokens: z.number().describe("Estimated."),
    limit: z.number().optional().describe("Characters that may enter a prompt. Absent: as many as there are."),
    missing: z.number().optional().describe("Characters that did not fit. Absent: all of it is there."),
    untrusted: z.literal(true).optional().describe("It was written while untrusted text was in context."),
  })
  .meta({ id: "TurnPart" });

const lookupSchema = z
  .strictObject({ tool: z.string(), characters: z.number(), untrusted: z.literal(true).optional() })
  .meta({ id: "Lookup" });

export const turnMemorySchema = z
  .strictObject({
    runId: z.string().optional(),
    characters: z.number(),
    tokens: z.number(),
    parts: z.array(turnPartSchema),
    lookups: z.array(lookupSchema).describe("Lookups of the run, in order."),
    absent: z.array(z.string()).describe("Files that are not there, or are empty."),
  })
  .meta({ id: "TurnMemory" });

export const subagentWaitSchema = z
  .union([
    z.strictObject({ status: z.literal("ended"), outcome: subagentRunOutcomeSchema }),
    z.strictObject({ status: z.literal("timeout") }),
    z.strictObject({ status: z.literal("unknown") }),
  ])
  .meta({ id: "SubagentWait" });

export const swarmContactSchema = z
  .strictObject({
    swarm: z.string(),
    contact: z.string().describe("The root of the tree of the agent that contacted it: the person's own agent."),
    agentId: z.string().optional().describe("The swarm's agent for this contact, once it exists."),
    messagesSent: z.number(),
    messagesReceived: z.number(),
    firstContactAt: z.number(),
    lastContactAt: z.number(),
  })
  .meta({ id: "SwarmContact" });

const treeNodeSchema = z
  .strictObject({
    id: z.string(),
    sessionKey: z.string(),
    kind: z.enum(["cron", "heartbeat", "permanent", "subagent", "swarm", "system", "user"]),
    name: z.string(),
    state: z.enum(["resting", "running", "stopped", "waiting"]),
    waiting: z.number().describe("Messages that wait in its inbox."),
    runId: z.string().optional(),
    waitsFor: z
      .array(z.strictObject({ id: z.string(), name: z.string().optional() }))
      .optional()
      .describe("The agents its run waits for."),
    tokens: z.number().describe("Its own use over its life."),
    spent: z
      .strictObject({ tokens: z.number(), micros: z.number() })
      .optional()
      .describe("Charged to it, if budgets count that. `treeSpent` is that of its whole tree."),
    treeSpent: z.strictObject({ tokens: z.number(), micros: z.number() }).optional(),
    lastActivityAt: z.number(),
    get children() {
      return z.array(treeNodeSchema);
    },
    more: z.literal(true).optional().describe("It has children that are not shown: too deep, or too many."),
  })
  .meta({ id: "TreeNode" });

export const agentTreeSchema = z
  .strictObject({
    at: z.number(),
    roots: z.array(treeNodeSchema),
    more: z.boolean().describe("There are more roots than are shown."),
  })
  .meta({ id: "AgentTree" });

export const historyItemSchema = z
  .strictObject({
    position: z.number(),
    entry: z
      .union([entrySchema, z.looseObject({ type: z.string() }).describe("An entry that a newer version wrote.")])
      .optional(),
    broken: z.string().optional().describe("Why the line cannot be read."),
    line: z.string().optional().describe("A line that cannot be read."),
    unanswered: z
      .array(unansweredMessageSchema)
      .optional()
      .describe("Messages of the entry, or after it, that failed or were stopped or dropped."),
  })
  .meta({ id: "HistoryItem" });

export const foundEntrySchema = z
  .strictObject({
    position: z.number(),
    entryId: z.string(),
    role: z.string(),
    at: z.number(),
    text: z.string().describe("The part around the words."),
  })
  .meta({ id: "FoundEntry" });
export type FoundEntry = Document<typeof foundEntrySchema>;

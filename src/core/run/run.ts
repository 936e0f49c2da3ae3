/**
 * A run is one pass of model and tools over the messages it took, until the agent rests. Its record is written at every
 * step, so that a run without an end can be found and continued from its last committed step.
 */
import { z } from "zod";
import { type SystemPromptReport, systemPromptReportSchema } from "../agent/system-prompt-report.ts";
import { deliveryContextSchema, type Payload, payloadSchema } from "../delivery/delivery.ts";
import { type Entry, type MessageEntry, usageSchema } from "../history/entry.ts";
import type { AgentId, RunId, SessionId } from "../ids.ts";
import { runOverridesSchema } from "../message/run-overrides.ts";
import { triggerSchema } from "../message/trigger.ts";
import { behalfSchema } from "../people/behalf.ts";
import { skillLimitSchema } from "../rights/skill-limits.ts";
import { type CompactResult, compactResultSchema } from "./compact-result.ts";
import { runTrialSchema } from "./trial.ts";

const laneSchema = z.enum(["main", "subagent", "cron", "nested"]);
export type Lane = z.infer<typeof laneSchema>;

/** `safe`: may be executed again after a crash. `never`: its outcome is then recorded as unknown (L4). */
const replayPolicySchema = z.enum(["safe", "never"]);
export type ReplayPolicy = z.infer<typeof replayPolicySchema>;

/** A tool call of the step in progress. `intended` is committed before execution, `done` with its result. */
const callRecordSchema = z.looseObject({
  callId: z.string(),
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  replay: replayPolicySchema,
  state: z.enum(["asked", "intended", "done"]),
  /** The question about it, or the yes that it has used (M31). */
  approval: z.string().optional(),
  /** A late yes started it: history holds no such call, so its outcome becomes a text. */
  late: z.literal(true).optional(),
});
export type CallRecord = z.infer<typeof callRecordSchema>;

export const runOutcomeSchema = z.enum(["ok", "error", "aborted", "timeout", "lost"]);
export type RunOutcome = z.infer<typeof runOutcomeSchema>;

const runErrorKindSchema = z.enum([
  "context_overflow",
  "compaction_failure",
  "role_ordering",
  "model",
  "tool_limit",
  "timeout",
  "attempts",
  "budget",
  "internal",
]);
export type RunErrorKind = z.infer<typeof runErrorKindSchema>;

export const runErrorSchema = z.object({
  kind: runErrorKindSchema,
  message: z.string(),
  /** False if a provider refused the request or its key: the same again is refused again. */
  retryable: z.boolean().optional(),
});
export type RunError = z.infer<typeof runErrorSchema>;

export const pendingToolCallSchema = z.object({
  id: z.string(),
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
});

/** One commit of a run. `node`: the node that made it, if it is another than before. */
const runCommitSchema = z.object({ site: z.string(), at: z.number().int(), node: z.number().int().optional() });
export type RunCommit = z.infer<typeof runCommitSchema>;

/** What a run's record keeps beside its columns. */
export const runBodySchema = z.looseObject({
  lane: laneSchema,
  /** The node that works on it, or did last. */
  node: z.number().int().optional(),
  /** A drain interrupted it. */
  paused: z.boolean().optional(),
  /** It waits for a person and holds nothing (M31). */
  suspended: z.boolean().optional(),
  /** Its commits, oldest first: the first one and the latest. */
  commits: z.array(runCommitSchema).optional(),
  /** What its trials have shown since its last step (M13). */
  trial: runTrialSchema.optional(),
  /** Sequences of the messages it took, in order. */
  seqs: z.array(z.number().int()),
  /** Those of them that became part of another message's prompt. */
  merged: z.array(z.number().int()).optional(),
  /** When a person last wrote what this run works on; absent if no person did. */
  humanAt: z.number().int().optional(),
  /** Who wrote it, as `connector:id`; absent if the channel does not name the sender. */
  person: z.string().optional(),
  /** Who it acts for, and who is on its way: fixed when it takes its messages (M30). */
  behalf: behalfSchema.optional(),
  /** How many messages of people it took, if that is not all of them or none. */
  said: z.number().int().optional(),
  /** How many of these are counted towards the limits of messages (M21). */
  counted: z.number().int().optional(),
  /** Where its answer goes: the delivery context of the message that caused it, whole. */
  delivery: deliveryContextSchema.optional(),
  replyToId: z.string().optional(),
  wishes: runOverridesSchema.optional(),
  /** What made the message it works on, if it was not a person: the job or hook and its slot (M22). */
  trigger: triggerSchema.optional(),
  calls: z.array(callRecordSchema),
  /** The approval whose late yes began it: if no model can tell the outcome of its call, the outcome is the answer (M31). */
  late: z.string().optional(),
  /** What the model said with calls of tools that the caller executes. The run ends when its own calls of this turn are done. */
  callerTurn: z.object({ text: z.string(), calls: z.array(pendingToolCallSchema) }).optional(),
  /** Model calls made so far; bounded by the iteration limit. */
  iterations: z.number().int(),
  /** How many answers in a row were cut off in the middle of their calls. */
  cutOffs: z.number().int().optional(),
  /** Deliveries created so far; the ordinal of the next one. */
  deliveries: z.number().int(),
  usage: usageSchema.optional(),
  /** The place of its last line in history, when it has ended. */
  lastPos: z.number().int().optional(),
  sentTexts: z.array(z.string()).optional(),
  sentTargets: z.array(deliveryContextSchema).optional(),
  /** What the skills that it has read leave of its tools. */
  skillLimits: z.array(skillLimitSchema).optional(),
  /** A run whose only work is to compact, as a person asked. */
  compact: z.object({ instructions: z.string().optional() }).optional(),
  /** A silent run in which the agent writes down what matters before its context is compacted. */
  memoryFlush: z.boolean().optional(),
  // Written with the end of the run.
  error: runErrorSchema.optional(),
  stopReason: z.string().optional(),
  /** Its answer, if that is neither its error nor its last line of history. Null: it answered nothing. */
  answer: payloadSchema.nullable().optional(),
  compaction: compactResultSchema.optional(),
  /** Calls that were open at the end. */
  pendingToolCalls: z.array(pendingToolCallSchema).optional(),
  /** The parts of its last system prompt. */
  systemPromptReport: systemPromptReportSchema.optional(),
});
export type RunBody = z.infer<typeof runBodySchema>;

/** How many messages of people a run has taken. */
export const saidIn = ({ said, humanAt, seqs }: Pick<RunBody, "said" | "humanAt" | "seqs">): number =>
  said ?? (humanAt === undefined ? 0 : seqs.length);

export interface RunRecord {
  readonly id: RunId;
  readonly agentId: AgentId;
  readonly sessionId: SessionId;
  readonly state: "open" | "ended";
  /** Counts starts without a newly committed step in between. From the third one on the run is a suspect (M13). */
  readonly attempt: number;
  /** Counts committed steps. */
  readonly step: number;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly outcome?: RunOutcome;
  /** A request to end the run; checked by every commit of a step (M9). */
  readonly abort?: AbortMark;
  readonly body: RunBody;
}

export interface AbortMark {
  readonly reason: "person" | "interrupt" | "reset" | "stop" | "timeout";
  readonly at: number;
}

/** What a caller gets when a run has ended. `runResult` makes it from the record. */
export interface RunResult {
  readonly runId: RunId;
  readonly agentId: AgentId;
  readonly outcome: RunOutcome;
  readonly payloads: readonly Payload[];
  readonly meta: RunMeta;
  readonly didSendViaMessagingTool: boolean;
  readonly messagingToolSentTexts: readonly string[];
  readonly messagingToolSentTargets: readonly z.infer<typeof deliveryContextSchema>[];
}

export interface RunMeta {
  readonly durationMs: number;
  readonly aborted: boolean;
  readonly agentMeta?: AgentMeta;
  /** The parts of the prompt of its last model call. */
  readonly systemPromptReport?: SystemPromptReport;
  readonly error?: RunError;
  readonly stopReason?: string;
  /** Of a run that was opened to compact. */
  readonly compaction?: CompactResult;
  readonly pendingToolCalls: readonly z.infer<typeof pendingToolCallSchema>[];
}

export interface AgentMeta {
  readonly sessionId: SessionId;
  readonly provider: string;
  readonly model: string;
  readonly usage?: {
    readonly input?: number;
    readonly output?: number;
    readonly cacheRead?: number;
    readonly cacheWrite?: number;
    readonly total?: number;
  };
}

type EndedRun = Omit<RunRecord, "state" | "attempt" | "step" | "outcome"> & { readonly outcome: RunOutcome };

/** `last`: the line of history at the record's `lastPos`. One of another run is ignored. */
export function runResult(run: EndedRun, last: Entry | undefined): RunResult {
  const { body, outcome } = run;
  const said = last?.type === "message" && last.role === "assistant" && last.runId === run.id ? last : undefined;
  const payload = payloadOf(run, said);
  const targets = body.sentTargets ?? [];
  return {
    runId: run.id,
    agentId: run.agentId,
    outcome,
    payloads: payload ? [payload] : [],
    meta: {
      durationMs: (run.endedAt ?? run.startedAt) - run.startedAt,
      aborted: outcome === "aborted",
      agentMeta: said && agentMeta(run, said),
      systemPromptReport: body.systemPromptReport,
      error: body.error,
      stopReason: body.stopReason,
      compaction: body.compaction,
      pendingToolCalls: body.pendingToolCalls ?? [],
    },
    didSendViaMessagingTool: targets.length > 0,
    messagingToolSentTexts: (body.sentTexts ?? []).filter((text) => text !== ""),
    messagingToolSentTargets: targets,
  };
}

/** The answer: what the record says, otherwise the error, otherwise what the assistant wrote last. */
function payloadOf({ body, outcome }: EndedRun, said: MessageEntry | undefined): Payload | undefined {
  const { answer, error, replyToId } = body;
  if (answer === null) return undefined;
  if (answer) return { ...answer, replyToId };
  if (error) return { text: error.message, isError: true, replyToId };
  return outcome === "ok" && said ? { text: textOf(said), replyToId } : undefined;
}

const textOf = ({ content }: MessageEntry): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

function agentMeta({ sessionId, body: { usage } }: EndedRun, said: MessageEntry): AgentMeta | undefined {
  const { provider, model } = said;
  if (provider === undefined || model === undefined) return undefined;
  if (!usage) return { sessionId, provider, model };
  const { input, output, cacheRead, cacheWrite, totalTokens: total } = usage;
  return { sessionId, provider, model, usage: { input, output, cacheRead, cacheWrite, total } };
}

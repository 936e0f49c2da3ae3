/**
 * A message is an item in an agent's inbox, of any origin. Once accepted it is settled exactly once (L1): taken by a
 * named run, merged into a named prompt, or dropped by a named policy that left its trace.
 */
import { z } from "zod";
import { deliveryContextSchema } from "../delivery/delivery.ts";
import { agentIdSchema } from "../id-schemas.ts";
import type { AgentId, MessageId, RunId } from "../ids.ts";
import { fileReferenceSchema } from "./file-reference.ts";
import { permissionsSchema } from "./permissions.ts";
import { queueSettingsSchema } from "./queue.ts";
import { type RunOverrides, runOverridesSchema } from "./run-overrides.ts";
import { triggerSchema } from "./trigger.ts";

/**
 * Whom what is said is for, as `connector:id`, where an agent says it: set by the engine from the run that says it, never read
 * from text. What comes of it counts for them (M21).
 */
const person = z.string().min(1).optional();

const runId = z
  .string()
  .min(1)
  .transform((id) => id as RunId);

/** What a message says. One form per kind. */
export const messageBodySchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("user"),
    text: z.string(),
    files: z.array(fileReferenceSchema).optional(),
    /** The channel's id of the message this one answers. */
    replyToId: z.string().optional(),
    sender: z.object({ id: z.string(), name: z.string().optional() }).optional(),
    /** Said for this message only; wins over every other queue setting. */
    queue: queueSettingsSchema.partial().optional(),
    wishes: runOverridesSchema.optional(),
    person,
  }),
  z.object({
    kind: z.literal("system"),
    text: z.string(),
    /** The agent it comes from, set by the engine and never read from text. Absent: the system itself. */
    origin: z.string().optional(),
    silent: z.boolean().optional(),
    /** How many messages between agents led to this one, one after the other: by this, agents that only answer each other end. */
    hops: z.number().int().optional(),
    person,
  }),
  z.object({
    kind: z.literal("trigger"),
    text: z.string(),
    trigger: triggerSchema,
    wishes: runOverridesSchema.optional(),
  }),
  z.object({
    kind: z.literal("report"),
    text: z.string(),
    childId: agentIdSchema,
    childRunId: runId,
    person,
    /** Recorded, and nobody is woken: the child said that there is nothing to announce, or its requester was stopped. */
    silent: z.boolean().optional(),
  }),
  z.object({
    kind: z.literal("reset"),
    text: z.string().optional(),
    by: z.enum(["person", "daily", "idle", "system"]),
  }),
  /** Changes the agent's overrides; its owner writes them when the message's turn comes. */
  z.object({
    kind: z.literal("setting"),
    /** How to treat what arrives while it is busy; `null` takes that back. */
    queue: queueSettingsSchema.partial().nullable().optional(),
    /** Fields of the state that may be set from outside, `null` clears one; checked by `patchState`. */
    patch: z.record(z.string(), z.unknown()).optional(),
    /** Why nothing may be changed: what the person is told instead. */
    refused: z.string().optional(),
  }),
  /** Goes back to an entry of the current session and continues from there. */
  z.object({ kind: z.literal("branch"), entryId: z.string().min(1), summary: z.string().optional() }),
  /** Ends the run that works on what came before this message. */
  z.object({ kind: z.literal("stop") }),
  /** What a permanent agent is told about itself from now on. */
  z.object({
    kind: z.literal("describe"),
    by: z.string(),
    description: z.string().min(1),
    systemPrompt: z.string().min(1),
    workspaceDir: z.string().min(1).optional(),
    username: z.string().min(1).optional(),
    permissions: permissionsSchema.optional(),
  }),
  z.object({ kind: z.literal("restore") }),
  /** A person's question about what the agent has started, or an order to it; see `/subagents`. */
  z.object({ kind: z.literal("subagents"), command: z.string() }),
  z.object({ kind: z.literal("compact"), instructions: z.string().optional() }),
  z.object({
    kind: z.literal("permission"),
    runId,
    callId: z.string(),
    approved: z.boolean(),
    by: z.string().optional(),
  }),
]);
export type MessageBody = z.infer<typeof messageBodySchema>;
export type MessageKind = MessageBody["kind"];

/** Where a message came from, as the channel names it. Ids are the channel's immutable ones, never display names. */
export const sourceSchema = z
  .object({
    connector: z.string().min(1),
    accountId: z.string().optional(),
    channelId: z.string().optional(),
    messageId: z.string().optional(),
    /** An edited message keeps its id and carries a revision (M5). */
    revision: z.number().int().optional(),
    sentAt: z.number().int().optional(),
  })
  .readonly();
export type Source = z.infer<typeof sourceSchema>;

/** `waiting → taken →` one of the ends (M4). */
export const messageStateSchema = z.enum([
  "waiting",
  "taken",
  "answered",
  "recorded",
  "merged",
  "dropped",
  "failed",
  "aborted",
  "discarded",
  "removed",
]);
export type MessageState = z.infer<typeof messageStateSchema>;

export const newMessageSchema = z
  .object({
    body: messageBodySchema,
    source: sourceSchema.optional(),
    /** A key of the caller's own that makes a repeated message the same one, where no channel gives an id. */
    key: z.string().min(1).optional(),
    /** The id of the run that takes it, promised when it was posted: whoever started a child can ask for its run at once. */
    asRun: runId.optional(),
    /** Where the answer goes. Absent: nobody outside is answered. */
    delivery: deliveryContextSchema.optional(),
    acceptedAt: z.number().int(),
  })
  .readonly();
export type NewMessage = z.infer<typeof newMessageSchema>;

export interface Message extends NewMessage {
  readonly id: MessageId;
  readonly agentId: AgentId;
  readonly seq: number;
  readonly state: MessageState;
  /** The run that took it, or into whose prompt it was merged. */
  readonly runId?: RunId;
  /** Why it ended as it did, where the state alone does not say: the drop policy, an error. */
  readonly reason?: string;
  readonly settledAt?: number;
}

/** The text of a message of any kind; empty if the kind has none. */
export const messageText = (body: MessageBody): string => ("text" in body ? (body.text ?? "") : "");

/** Whether a message has come to one of its ends. */
export const isSettled = ({ state }: Pick<Message, "state">): boolean => state !== "waiting" && state !== "taken";

/**
 * What overtakes what waits: a stop (M9), a reset (M10), a decision about a call that is waiting for it (M11), a message
 * that says of itself that it interrupts.
 */
export const isUrgent = (body: MessageBody): boolean =>
  body.kind === "stop" ||
  body.kind === "reset" ||
  body.kind === "permission" ||
  (body.kind === "user" && body.queue?.mode === "interrupt");

/** What a message wants for its run. One that wants something runs alone, so that nobody else gets what it wished for. */
export const overridesOf = (body: MessageBody): RunOverrides | undefined =>
  body.kind === "user" || body.kind === "trigger" ? body.wishes : undefined;

/** Says nothing and brings nothing: there is nothing to answer. A run that was promised to somebody takes place all the same. */
export const saysNothing = ({ body, asRun }: Pick<NewMessage, "body" | "asRun">): boolean =>
  body.kind === "user" && body.text.trim() === "" && !body.files?.length && asRun === undefined;

/** Silent messages are recorded and wake nobody (M4). */
export const isSilent = (body: MessageBody): boolean =>
  (body.kind === "system" || body.kind === "report") && body.silent === true;

/**
 * Whether a message counts towards the queue's cap: people's and ordinary system messages do, the rest are exempt (M1). So is
 * one whose run is promised: whoever was told of it waits for its report.
 */
export const countsTowardsCap = ({ body, asRun }: Pick<NewMessage, "body" | "asRun">): boolean =>
  asRun === undefined && (body.kind === "user" || (body.kind === "system" && !body.silent));

/**
 * What makes two incoming messages the same (M5): the caller's key, or the channel's ids with the revision. Undefined if
 * the message has neither: then it is always new.
 */
export function dedupeKey({ source, key }: Pick<NewMessage, "source" | "key">): string | undefined {
  if (key !== undefined) return key;
  if (source?.messageId === undefined) return undefined;
  const { connector, accountId, channelId, messageId, revision } = source;
  return JSON.stringify([connector, accountId ?? "", channelId ?? "", messageId, revision ?? 0]);
}

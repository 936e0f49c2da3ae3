/**
 * A message is an item in an agent's inbox, of any origin. Once accepted it is settled exactly once (L1): taken by a
 * named run, merged into a named prompt, or dropped by a named policy that left its trace.
 */

import { z } from "zod";
import { deliveryContextSchema } from "../delivery/delivery.ts";
import { fileReferenceSchema } from "../file-reference.ts";
import { agentIdSchema } from "../id-schemas.ts";
import type { AgentId, MessageId, RunId } from "../ids.ts";
import { behalfSchema } from "../people/behalf.ts";
import { grantSchema } from "../people/grant.ts";
import { permissionsSchema } from "./permissions.ts";
import { queueDefaultSchema, queueSettingsSchema } from "./queue.ts";
import { type RunOverrides, runOverridesSchema } from "./run-overrides.ts";
import { triggerSchema } from "./trigger.ts";
import { withoutIds } from "./without-ids.ts";

/**
 * The person a message of an agent is for, as `connector:id`. The engine sets it from the run that sends the message, never from
 * text. The cost of the work counts for this person (M21).
 */
const person = z.string().min(1).optional();

const runId = z
  .string()
  .min(1)
  .transform((id) => id as RunId);

/** The content of a message. One form per kind. */
export const messageBodySchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("user"),
    text: z.string(),
    files: z.array(fileReferenceSchema).optional(),
    /** The channel's id of the message this one answers. */
    replyToId: z.string().optional(),
    sender: z.object({ id: z.string(), name: z.string().optional() }).optional(),
    /** For this message only; overrides every other queue setting. */
    queue: queueSettingsSchema.partial().optional(),
    /** Instead of the settings of the channel and the configuration; the agent's own settings come first. */
    queueDefault: queueDefaultSchema.optional(),
    wishes: runOverridesSchema.optional(),
    /** The entry that it continues. If the agent has gone on from there, it comes back first. */
    after: z.string().min(1).optional(),
    /** Results of calls that the caller has executed. */
    toolResults: z
      .array(z.object({ callId: z.string(), name: z.string(), text: z.string(), isError: z.boolean().optional() }))
      .optional(),
    /** Messages of one person that come together become one prompt. `album`: parts of several files sent as one. */
    burst: z.enum(["text", "album"]).optional(),
    /** What the message is about, in a line: used instead of its text if it is dropped. */
    summaryLine: z.string().optional(),
    person,
  }),
  z.object({
    kind: z.literal("system"),
    text: z.string(),
    /** The agent it comes from, set by the engine and never read from text. Absent: the system itself. */
    origin: z.string().optional(),
    silent: z.boolean().optional(),
    /** How a silent message reaches the person without a run: `notice`, it is sent as it is; `delivered`, another delivery has the words. */
    said: z.enum(["notice", "delivered"]).optional(),
    /** The length of the chain of messages between agents that led to this one. It limits agents that answer each other. */
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
    /** Recorded without waking the agent: the child has nothing to announce, or its requester was stopped. */
    silent: z.boolean().optional(),
  }),
  z.object({
    kind: z.literal("reset"),
    text: z.string().optional(),
    by: z.enum(["person", "daily", "idle", "system"]),
  }),
  /** Changes the agent's overrides; its owner writes them in the order of the inbox. */
  z.object({
    kind: z.literal("setting"),
    /** Queue settings; `null`: back to the default. */
    queue: queueSettingsSchema.partial().nullable().optional(),
    /** Fields of the state that may be set from outside, `null` clears one; checked by `patchState`. */
    patch: z.record(z.string(), z.unknown()).optional(),
    /** Rules that the agent gets or loses. They are named one by one: two such messages in a row both count. */
    rules: z.object({ add: grantSchema.optional(), remove: z.string().optional() }).optional(),
    /** Why nothing may be changed: the answer to the person. */
    refused: z.string().optional(),
  }),
  /** Goes back to an entry of the current session and continues from there. */
  z.object({ kind: z.literal("branch"), entryId: z.string().min(1), summary: z.string().optional() }),
  /** Ends the run that works on earlier messages. */
  z.object({ kind: z.literal("stop") }),
  /** The new description and prompt of a permanent agent. */
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
  /** A person's question or command about the agent's children; see `/subagents`. */
  z.object({ kind: z.literal("subagents"), command: z.string() }),
  z.object({ kind: z.literal("compact"), instructions: z.string().optional() }),
  /** A person's command in a chat, by its name in the table of commands; `text` follows the name. */
  z.object({
    kind: z.literal("command"),
    name: z.string().min(1).max(64),
    text: z.string(),
    /** It changes settings, so it waits its turn. Absent: it is answered between two steps of a run too. */
    inTurn: z.literal(true).optional(),
  }),
  z.object({
    kind: z.literal("permission"),
    runId,
    callId: z.string(),
    approved: z.boolean(),
    by: z.string().optional(),
    /** The question. A yes executes its call in a run of its own if no run waits for it. Absent: an earlier version posted it. */
    approval: z.string().optional(),
    /** What the agent reads if its run no longer waits for the answer. */
    text: z.string().optional(),
  }),
]);
export type MessageBody = z.infer<typeof messageBodySchema>;
export type MessageKind = MessageBody["kind"];

/** The origin of a message. Ids are the channel's immutable ones, never display names. */
const sourceSchema = z
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

/** Ends without an answer, which people may want to look at. */
export const UNANSWERED_STATES = ["dropped", "failed", "aborted", "discarded"] as const;
export type UnansweredState = (typeof UNANSWERED_STATES)[number];

export const newMessageSchema = z
  .object({
    body: messageBodySchema,
    source: sourceSchema.optional(),
    /** The caller's key, if no channel gives an id. A second message with the same key is the same message. */
    key: z.string().min(1).optional(),
    /** Who it is for, and who is on its way. Absent: it was stored by an earlier version. */
    behalf: behalfSchema.optional(),
    /** The id of the run that takes it, promised when it was posted, so that a parent has the id of its child's run at once. */
    asRun: runId.optional(),
    /** Where the answer goes. Absent: no answer is sent. */
    delivery: deliveryContextSchema.optional(),
    acceptedAt: z.number().int(),
  })
  .readonly();
export type NewMessage = z.infer<typeof newMessageSchema>;

/** How often the handling of a waiting message has failed, why the last time, and when it is tried again (M48). */
export interface FailedTries {
  readonly times: number;
  readonly reason: string;
  readonly nextAt: number;
}

/** A message as it is stored after a failed try. */
export type TriedMessage = NewMessage & { readonly tried: FailedTries };

export interface Message extends NewMessage {
  readonly id: MessageId;
  readonly agentId: AgentId;
  readonly seq: number;
  readonly state: MessageState;
  /** The run that took it, or into whose prompt it was merged. */
  readonly runId?: RunId;
  /** Why it ended, if the state alone does not say it: the drop policy, an error. */
  readonly reason?: string;
  readonly settledAt?: number;
  readonly tried?: FailedTries;
}

/** The text of a message of any kind; empty if the kind has none. */
export const messageText = (body: MessageBody): string => ("text" in body ? (body.text ?? "") : "");

/** The same for people. */
export const shownText = (body: MessageBody): string => withoutIds(messageText(body));

/** Whether a message has come to one of its ends. */
export const isSettled = ({ state }: Pick<Message, "state">): boolean => state !== "waiting" && state !== "taken";

/** The overrides of a message for its run. A message with overrides runs alone, so that they apply to no other message. */
export const overridesOf = (body: MessageBody): RunOverrides | undefined =>
  body.kind === "user" || body.kind === "trigger" ? body.wishes : undefined;

/** Whether a message has no text, files or results, so that it needs no run. A promised run takes place in any case. */
export const saysNothing = ({ body, asRun }: Pick<NewMessage, "body" | "asRun">): boolean =>
  isEmptyBody(body) && !(body.kind === "user" && body.toolResults?.length) && asRun === undefined;

/** Whether a message of a person has neither text nor files. */
export const isEmptyBody = (body: MessageBody): boolean =>
  body.kind === "user" && body.text.trim() === "" && !body.files?.length;

/** Whether a message carries a yes after its run stopped waiting: a run of its own executes the call (M31). */
export const isLateYes = (body: MessageBody): boolean =>
  body.kind === "permission" && body.approved && body.text !== undefined;

/** Silent messages are recorded and wake no agent (M4). */
export const isSilent = (body: MessageBody): boolean =>
  (body.kind === "system" || body.kind === "report") && body.silent === true;

/**
 * Whether a message counts towards the queue's cap: messages of people and ordinary system messages do, others do not (M1).
 * A message with a promised run does not: its requester waits for the report.
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

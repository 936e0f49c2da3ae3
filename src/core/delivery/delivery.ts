/**
 * A delivery is something to send to a target outside. It is committed before it is sent, and ends `sent`, `suppressed`,
 * `failed` or `unconfirmed`, never silently (L5). It appears at most once outside (L12). A connector sends what is `pending`;
 * what is `waiting-reader` waits in a mailbox (M27), what is `unroutable` waits for a route (M26).
 */
import { z } from "zod";
import { fileReferenceSchema } from "../file-reference.ts";
import type { AgentId, DeliveryId, RunId } from "../ids.ts";
import { personIdSchema } from "../people/person-record.ts";
import { ENDED_STATES, OPEN_STATES, type WAITING_STATES } from "./delivery-states.ts";

/** Where a reply goes. An address is atomic: copied as a whole from the message it answers, never merged field by field. */
export const deliveryContextSchema = z
  .object({
    channel: z.string().trim().min(1).optional(),
    accountId: z.string().trim().min(1).optional(),
    to: z.string().trim().min(1).optional(),
    threadId: z.union([z.string().trim().min(1), z.number().int()]).optional(),
    /** Deliveries of a lane have an order of their own: a question never delays an answer (M17). Not sent to a channel. */
    lane: z.literal("questions").optional(),
  })
  .readonly();
export type DeliveryContext = z.infer<typeof deliveryContextSchema>;

/** `token`: what the channel gives back when the button is pressed, at most 64 bytes. It names something that is stored. */
export const buttonSchema = z
  .object({
    label: z.string().min(1).max(64),
    token: z.string().min(1).max(64),
    style: z.enum(["yes", "no"]).optional(),
  })
  .readonly();
export type Button = z.infer<typeof buttonSchema>;

export const payloadSchema = z
  .object({
    text: z.string().optional(),
    mediaUrl: z.string().optional(),
    mediaUrls: z.array(z.string()).optional(),
    /** Files of the file store. They are kept as long as the delivery exists. */
    files: z.array(fileReferenceSchema).readonly().optional(),
    replyToId: z.string().optional(),
    /** It is shown as a reply also where it is clear what is answered. */
    asReply: z.literal(true).optional(),
    isError: z.boolean().optional(),
    /** What is done to a message that is already there, instead of sending one. `messageId`: as the channel calls it. */
    action: z
      .object({ do: z.enum(["edit", "delete", "react"]), messageId: z.string().min(1), emoji: z.string().optional() })
      .readonly()
      .optional(),
    /** Answers that a person can choose. A channel without buttons shows them as a list. */
    buttons: z.array(buttonSchema).max(8).readonly().optional(),
    /** The approval that it asks for. The first answer settles it, so it may be sent again (M44). Not sent to a channel. */
    asks: z.string().optional(),
    /** The trigger's slot that gets the result. Not sent to a channel. */
    slot: z.object({ jobId: z.string(), slot: z.string() }).readonly().optional(),
    /** The person of the run. Not sent to a channel. Absent: an earlier version wrote it. */
    person: personIdSchema.optional(),
    /** How the messages that it reports on ended, by their numbers in the inbox. Not sent to a channel; a mailbox shows it (M45). */
    unanswered: z
      .object({ seqs: z.array(z.number().int()).readonly(), state: z.string(), reason: z.string().optional() })
      .readonly()
      .optional(),
    /** It only says that an answer is unconfirmed (M46). Not sent to a channel. */
    notice: z.literal(true).optional(),
  })
  .readonly();
export type Payload = z.infer<typeof payloadSchema>;

/** What a channel gets of a payload: not what is for the store. */
export function contentOf({
  slot: _,
  person: __,
  notice: ___,
  unanswered: ____,
  asks: _____,
  ...content
}: Payload): Payload {
  return content;
}

/**
 * What a channel can tell about an interrupted send. `idempotent`: a second send with the same id appears once. `reconcilable`:
 * the channel can be asked whether it arrived. `ambiguous`: it cannot; the delivery is listed as unconfirmed.
 */
const sendingClassSchema = z.enum(["idempotent", "reconcilable", "ambiguous"]);
export type SendingClass = z.infer<typeof sendingClassSchema>;

export const deliveryStateSchema = z.enum([...OPEN_STATES, ...ENDED_STATES]);
export type DeliveryState = z.infer<typeof deliveryStateSchema>;
export type WaitingState = (typeof WAITING_STATES)[number];

/** A new delivery. `part` counts the parts of one split text, each a separate row (M16). */
export interface NewDelivery {
  readonly id: DeliveryId;
  readonly agentId: AgentId;
  readonly runId?: RunId;
  readonly target: DeliveryContext;
  readonly payload: Payload;
  readonly createdAt: number;
  /** Set if it ends at once: a silent reply, a duplicate, no target. */
  readonly ended?: { readonly state: "suppressed" | "failed"; readonly reason: string };
  /** Set if no connector sends it: it waits for its reader, or for a route. */
  readonly waits?: { readonly state: WaitingState; readonly reason?: string };
}

export interface Delivery extends NewDelivery {
  /** The store's order. Deliveries to one target are sent in this order (M17). */
  readonly n: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** The node that last began to send it. */
  readonly node?: number;
  /** Not before this time. */
  readonly nextAt: number;
  readonly endedAt?: number;
  readonly reason?: string;
  /** What the channel called it once sent. */
  readonly receipt?: string;
}

/** A delivery's id: its run and its number within the run, so that a repeated step creates no second delivery. */
export const deliveryId = (runId: RunId, ordinal: number): DeliveryId => `${runId}.${ordinal}` as DeliveryId;

/** Deliveries on the wire, and as the reader of a mailbox sees them. */

import { z } from "zod";
import {
  buttonSchema,
  deliveryContextSchema,
  deliveryStateSchema,
  payloadSchema,
} from "../../../core/delivery/delivery.ts";
import { fileReferenceSchema } from "../../../core/file-reference.ts";
import { namesShape } from "./names.ts";

export const mailboxItemSchema = z
  .strictObject({
    text: z.string().optional(),
    mediaUrl: z.string().optional(),
    mediaUrls: z.array(z.string()).optional(),
    files: z
      .array(fileReferenceSchema)
      .optional()
      .describe("Files of the file store. They are kept as long as the delivery exists."),
    replyToId: z.string().optional(),
    asReply: z.literal(true).optional().describe("It is always shown as a reply."),
    isError: z.boolean().optional(),
    action: z
      .strictObject({ do: z.enum(["delete", "edit", "react"]), messageId: z.string(), emoji: z.string().optional() })
      .optional()
      .describe(
        "Changes a message that is already there, instead of sending one. `messageId`: as the channel calls it.",
      ),
    buttons: z
      .array(buttonSchema)
      .optional()
      .describe("Answers that a person can choose. A channel without buttons shows them as a list."),
    asks: z
      .string()
      .optional()
      .describe(
        "The approval that it asks for. The first answer settles it, so it may be sent again. Not sent to a channel.",
      ),
    person: z
      .string()
      .optional()
      .describe("The person of the run. Not sent to a channel. Absent: an earlier version wrote it."),
    unanswered: z
      .strictObject({ seqs: z.array(z.number()), state: z.string(), reason: z.string().optional() })
      .optional()
      .describe(
        "How the messages that it reports on ended, by their numbers in the inbox. Not sent to a channel; a mailbox shows it.",
      ),
    notice: z.literal(true).optional().describe("It only says that an answer is unconfirmed. Not sent to a channel."),
    id: z.string(),
    n: z.number(),
    agentId: z.string(),
    runId: z.string().optional(),
    to: z.string().optional(),
    createdAt: z.number(),
  })
  .meta({ id: "MailboxItem" });

export const deliverySchema = z
  .strictObject({
    n: z.number().describe("The store's order. Deliveries to one target are sent in this order."),
    state: deliveryStateSchema,
    attempts: z.number(),
    ...namesShape,
    node: z.number().optional().describe("The node that last began to send it."),
    nextAt: z.number().describe("Not before this time."),
    endedAt: z.number().optional(),
    reason: z.string().optional(),
    receipt: z.string().optional().describe("The channel's id of the sent message."),
    id: z.string(),
    agentId: z.string(),
    runId: z.string().optional(),
    target: deliveryContextSchema,
    payload: payloadSchema,
    createdAt: z.number(),
    ended: z
      .strictObject({ state: z.enum(["failed", "suppressed"]), reason: z.string() })
      .optional()
      .describe("Set if it ends at once: a silent reply, a duplicate, no target."),
    waits: z
      .strictObject({ state: z.enum(["unroutable", "waiting-reader"]), reason: z.string().optional() })
      .optional()
      .describe("Set if no connector sends it: it waits for its reader, or for a route."),
  })
  .meta({ id: "Delivery" });

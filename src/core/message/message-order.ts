/** What the kind of a message says about its place among others. Without the schema library: the store needs this of a message. */
import type { MessageBody } from "./message.ts";

/**
 * Whether a message overtakes those that wait: a stop (M9), a reset (M10), a decision about a call that waits for it (M11),
 * or a message with the mode `interrupt`.
 */
export const isUrgent = (body: MessageBody): boolean =>
  body.kind === "stop" ||
  body.kind === "reset" ||
  body.kind === "permission" ||
  (body.kind === "user" && body.queue?.mode === "interrupt");

/** Whether a person went on with this message, so that repeating an earlier one means to say it again (M18). */
export const isFromPerson = (body: MessageBody): boolean =>
  body.kind === "user" || (body.kind === "reset" && body.by === "person");

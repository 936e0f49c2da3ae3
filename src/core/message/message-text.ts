/** What a message says in words, whatever its kind. */
import type { MessageBody } from "./message.ts";

export const messageText = (body: MessageBody): string => ("text" in body ? (body.text ?? "") : "");

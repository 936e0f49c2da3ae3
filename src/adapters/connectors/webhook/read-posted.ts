/** Reads one request of a program that is a channel. Pure. What has the wrong form is told to the program, which can correct it. */
import { z } from "zod";
import { unknownKeys } from "../../../core/known-keys.ts";
import type { ChatMessage } from "../chat/chat-message.ts";

const id = z.string().trim().min(1).max(250);

const postedSchema = z.strictObject({
  id,
  from: id,
  text: z.string().max(2_000_000).default(""),
  name: z.string().max(200).optional(),
  /** Where it was said, if not in a direct chat. */
  chat: id.optional(),
  group: z.boolean().default(false),
  title: z.string().max(200).optional(),
  thread: id.optional(),
  /** In a group: whether it speaks to the agent. */
  addressed: z.boolean().default(true),
  /** Another number for each change of the same message. */
  revision: z.number().int().nonnegative().optional(),
  replyTo: id.optional(),
  /** In milliseconds. */
  sentAt: z.number().int().nonnegative().max(1e14).optional(),
  files: z
    .array(z.strictObject({ name: z.string().min(1).max(200), data: z.base64() }))
    .max(20)
    .default([]),
});

export interface Posted extends ChatMessage {
  /** The contents of its files, by their ids. */
  readonly contents: ReadonlyMap<string, string>;
}

export function readPosted(body: unknown, now: number): Posted | { readonly wrong: string } {
  const read = postedSchema.safeParse(body, { error: unknownKeys });
  if (!read.success) {
    const [issue] = read.error.issues;
    return { wrong: `${issue?.path.join(".") || "the body"}: ${issue?.message ?? "not valid"}` };
  }
  const { from, chat = from, group, title, thread, name, replyTo, files, sentAt = now, ...said } = read.data;
  if (said.text.trim() === "" && files.length === 0) return { wrong: "text: a message without text and files" };
  const { id: messageId, text, revision, addressed } = said;
  return {
    ...{ chatId: chat, chatTitle: title, isGroup: group, threadId: thread, messageId, revision, sentAt, text },
    typed: true,
    userId: from,
    userName: name?.replaceAll(/\s+/gu, " ").trim() || from,
    addressed: !group || addressed,
    replyTo:
      replyTo === undefined ? undefined : { messageId: replyTo, typed: false, userName: "", text: "", isOurs: false },
    files: files.map((file, n) => ({ fileId: String(n), name: file.name, what: "file" })),
    contents: new Map(files.map(({ data }, n) => [String(n), data])),
  };
}

/** A person's message as a connector to a chat has read it, before its files are fetched and its text is composed. All ids are the channel's. */
import type { SubmittedText } from "../../../core/message/incoming-message.ts";

/** A file of a message, as the channel names it. It is fetched after the message is read. */
export interface RemoteFile {
  readonly fileId: string;
  readonly name: string;
  readonly mimeType?: string;
  readonly size?: number;
  /** Its kind in plain words: a photo, a document. */
  readonly what: string;
}

export interface Quoted {
  readonly messageId: string;
  /** Whether its author typed it there: it is neither forwarded nor of a bot, nor the name of a file. False if the channel does not say (M32). */
  readonly typed: boolean;
  readonly userId?: string;
  readonly userName: string;
  readonly text: string;
  readonly isOurs: boolean;
}

export interface ChatMessage {
  readonly chatId: string;
  readonly chatTitle?: string;
  readonly isGroup: boolean;
  readonly isChannel?: boolean;
  readonly threadId?: string | number;
  /** The name of the thread, if the channel says it. */
  readonly topic?: string;
  readonly userId: string;
  readonly userName: string;
  readonly messageId: string;
  /** A number for each edit; absent if the message was not edited. */
  readonly revision?: number;
  readonly sentAt: number;
  /** The text of the message, and nothing else. */
  readonly text: SubmittedText;
  /** Whether the person typed it: false for a message that came through a bot (M32). */
  readonly typed: boolean;
  /** A line for each part that is neither text nor a file. */
  readonly notes?: readonly string[];
  readonly files: readonly RemoteFile[];
  /** Several files that were sent as one have the same. */
  readonly album?: string;
  readonly replyTo?: Quoted;
  /** The author of a forwarded message; empty if the channel does not say. */
  readonly forwarded?: string;
  /** Whether it speaks to us: it names us, answers us, or is a command for us. */
  readonly addressed: boolean;
}

export interface ChatReaction {
  readonly chatId: string;
  readonly isGroup: boolean;
  readonly threadId?: string | number;
  readonly userId: string;
  readonly userName: string;
  readonly messageId: string;
  readonly emoji: string;
  readonly sentAt: number;
  /** Names the reaction itself, not the message. */
  readonly reactionId: string;
}

/** The text, and what is not text in a line each. */
export const shownText = ({ text, notes = [] }: Pick<ChatMessage, "text" | "notes">): string =>
  [text, ...notes].filter((line) => line !== "").join("\n");

const MAX_NAME = 128;

/** A name or title of the channel in one line. */
export const oneLine = (text: unknown, limit = MAX_NAME): string =>
  (typeof text === "string" ? text : "").replaceAll(/\s+/gu, " ").trim().slice(0, limit);

/** How a file that was not fetched is named in the text. */
export const missingFileNote = ({ what, name }: RemoteFile, why: string): string =>
  `[${what} "${name.replaceAll(/\s+/gu, " ").trim()}" was not fetched: ${why}]`;

/** What makes two incoming messages the same one (M5): the channel's own ids with the revision, or a key of the caller's. */
import type { NewMessage } from "./message.ts";

/** Undefined where the message has neither: such a message is always new. */
export function dedupeKey({ source, key }: Pick<NewMessage, "source" | "key">): string | undefined {
  if (key !== undefined) return key;
  if (source?.messageId === undefined) return undefined;
  const { connector, accountId, channelId, messageId, revision } = source;
  return JSON.stringify([connector, accountId ?? "", channelId ?? "", messageId, revision ?? 0]);
}

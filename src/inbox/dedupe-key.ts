/** What makes two incoming messages the same one (M5): the channel's own ids, and the revision of an edited message. */
import type { Source } from "../core/message.ts";

/** Undefined where the source has no message id: such a message is always new. */
export function dedupeKey(source: Source): string | undefined {
  if (source.messageId === undefined) return undefined;
  const { connector, accountId, channelId, messageId, revision } = source;
  return JSON.stringify([connector, accountId ?? "", channelId ?? "", messageId, revision ?? 0]);
}

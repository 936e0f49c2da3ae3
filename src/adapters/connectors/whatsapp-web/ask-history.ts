/**
 * Asks the phone for messages that this program may have missed: WhatsApp counts a message as delivered before we have it. The phone gives
 * what came before a message that it knows. So each chat is asked about twice after a connection: from the last message that was stored, at
 * once, and from the first one that comes, behind which nothing can be missing. What we have already is recognised by its id.
 */
import type { SeenChats } from "./seen-chats.ts";
import type { WebKey, WebSocketPort } from "./web-port.ts";

const CHATS_AT_ONCE = 20;
const CHATS_LATER = 200;
const MESSAGES = 20;
/** Before the first message that comes: what was lost is right before it. */
const MESSAGES_LATER = 10;

interface AskHistory {
  /** After a connection. Never rejects. */
  connected(socket: WebSocketPort): Promise<void>;
  /** A message has come by itself, not as history. Never rejects. */
  heard(socket: WebSocketPort, chat: string, key: WebKey, at: number): Promise<void>;
}

export function askHistory(seen: Pick<SeenChats, "latest">): AskHistory {
  let asked = new Set<string>();
  const ask = async (socket: WebSocketPort, count: number, key: WebKey, at: number): Promise<void> => {
    await socket.fetchMessageHistory(count, key, at).catch(() => undefined);
  };
  return {
    async connected(socket) {
      asked = new Set();
      for (const { key, at } of seen.latest(CHATS_AT_ONCE)) await ask(socket, MESSAGES, key, at);
    },
    async heard(socket, chat, key, at) {
      if (asked.has(chat) || asked.size >= CHATS_LATER) return;
      asked.add(chat);
      await ask(socket, MESSAGES_LATER, key, at);
    },
  };
}

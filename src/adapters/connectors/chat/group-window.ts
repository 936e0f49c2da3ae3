/**
 * What was said in a group before the bot was addressed. Kept in memory, bounded in chats, messages and characters; it is context for
 * the next message, and a restart forgets it.
 */
export interface Heard {
  readonly userId: string;
  readonly userName: string;
  readonly text: string;
  /** Whether its author typed it. */
  readonly typed: boolean;
}

const MAX_CHATS = 500;
const MAX_TEXT = 500;

export interface GroupWindow {
  hear(chat: string, heard: Heard): void;
  /** What was heard since the last call. */
  take(chat: string): readonly Heard[];
}

/** How many messages before a mention are shown to the model. */
const SHOWN_BEFORE = 30;

export function groupWindow(size: number = SHOWN_BEFORE): GroupWindow {
  const chats = new Map<string, Heard[]>();
  return {
    hear(chat, heard) {
      if (size === 0 || heard.text.trim() === "") return;
      const before = chats.get(chat) ?? [];
      // The chat that was silent longest is first.
      chats.delete(chat);
      if (chats.size >= MAX_CHATS) chats.delete(chats.keys().next().value ?? "");
      chats.set(chat, [...before, { ...heard, text: heard.text.slice(0, MAX_TEXT) }].slice(-size));
    },
    take(chat) {
      const heard = chats.get(chat) ?? [];
      chats.delete(chat);
      return heard;
    },
  };
}

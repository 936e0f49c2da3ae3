/**
 * Chats whose 24 hours are known to be over: a person has not written for a day, so only templates reach them. The platform knows it best;
 * this is what it has said to this process. Shared by the numbers of a process, because any of them may take the webhook of another.
 */
import type { Store } from "../../../core/store/store.ts";

export interface ClosedWindows {
  close(phoneNumberId: string, chat: string): void;
  /** The person has written. */
  open(phoneNumberId: string, chat: string): void;
  isClosed(phoneNumberId: string, chat: string): boolean;
}

const MAX_CHATS = 20_000;
const ofStore = new WeakMap<Store, ClosedWindows>();

export function closedWindows(store: Store): ClosedWindows {
  const known = ofStore.get(store);
  if (known) return known;
  const closed = new Set<string>();
  const windows: ClosedWindows = {
    close(number, chat) {
      if (closed.size >= MAX_CHATS) closed.delete(closed.values().next().value ?? "");
      closed.add(`${number}/${chat}`);
    },
    open: (number, chat) => void closed.delete(`${number}/${chat}`),
    isClosed: (number, chat) => closed.has(`${number}/${chat}`),
  };
  ofStore.set(store, windows);
  return windows;
}

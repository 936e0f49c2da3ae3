/**
 * What an account of WhatsApp Web has seen: when it was linked, the phone numbers of LIDs, and the last message of its chats. Kept in the
 * store, so that a person stays the same person, and so that history can be asked for after a restart.
 */
import type { Op } from "../../../core/store/change.ts";
import { submit } from "../../../engine/commit/submit.ts";
import type { KnownIds } from "./read-web-message.ts";
import type { AuthPorts } from "./stored-auth.ts";
import type { WebKey } from "./web-port.ts";

const MAX_CHATS = 50;
const MAX_LIDS = 5_000;
/** Only history depends on it, so it need not be exact. */
const SAVE_AFTER_MS = 5_000;

export interface SeenChats extends KnownIds {
  load(): Promise<void>;
  /** Messages from before this time are not for us. */
  since(): number;
  /** The first connection after a login. Durable when it resolves. */
  linked(): Promise<void>;
  /** A person's LID and number. Durable when it resolves. */
  learn(lid: string | undefined, userId: string): Promise<void>;
  heard(chat: string, key: WebKey, at: number): void;
  latest(limit: number): readonly { readonly key: WebKey; readonly at: number }[];
}

export function seenChats(ports: AuthPorts, account: string): SeenChats {
  const [sinceKey, chatsKey] = [`whatsapp-web.since.${account}`, `whatsapp-web.chats.${account}`];
  const lidKey = (lid: string): string => `whatsapp-web.lid.${account}.${lid}`;
  const phones = bounded<string>(MAX_LIDS);
  let chats: readonly (readonly [chat: string, key: WebKey, at: number])[] = [];
  let since: number | undefined;
  let isSaving = false;
  const put = async (key: string, value: string): Promise<void> => {
    const op: Op = { op: "fact.put", key, value };
    await submit(ports, "whatsapp-web.seen", [op]);
  };
  return {
    async load() {
      const [at, text] = [await ports.store.fact(sinceKey), await ports.store.fact(chatsKey)];
      since = at === undefined ? undefined : Number(at);
      chats = text === undefined ? [] : (JSON.parse(text) as typeof chats);
      for (const [lid, phone] of JSON.parse((await ports.store.fact(lidKey("known"))) ?? "[]") as [string, string][])
        phones.set(lid, phone);
    },
    // Before the first connection everything is old.
    since: () => since ?? Number.POSITIVE_INFINITY,
    async linked() {
      if (since !== undefined) return;
      // A message may come in the second of the login.
      since = Math.floor(ports.clock.now() / 1_000) * 1_000;
      await put(sinceKey, String(since));
    },
    phoneOf: (lid) => phones.get(lid),
    async learn(lid, userId) {
      if (lid === undefined || userId.includes("@") || phones.get(lid) === userId) return;
      phones.set(lid, userId);
      await put(lidKey("known"), JSON.stringify(phones.entries()));
    },
    heard(chat, { remoteJid, participant, fromMe, id }, at) {
      const key = { remoteJid, participant, fromMe, id };
      const isNew = !chats.some(([one]) => one === chat);
      chats = [...chats.filter(([one]) => one !== chat), [chat, key, at] as const].slice(-MAX_CHATS);
      const save = (): void => {
        isSaving = false;
        put(chatsKey, JSON.stringify(chats)).catch(() => undefined);
      };
      // Which chats there are matters more than their last message.
      if (isNew) return save();
      if (isSaving) return;
      isSaving = true;
      ports.clock.after(SAVE_AFTER_MS, save);
    },
    latest: (limit) => chats.slice(-limit).map(([, key, at]) => ({ key, at })),
  };
}

export interface Bounded<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  entries(): readonly (readonly [string, T])[];
}

/** A map that forgets what was set first. */
export function bounded<T>(limit: number): Bounded<T> {
  const map = new Map<string, T>();
  return {
    get: (key) => map.get(key),
    set(key, value) {
      map.delete(key);
      if (map.size >= limit) map.delete(map.keys().next().value ?? "");
      map.set(key, value);
    },
    entries: () => [...map],
  };
}

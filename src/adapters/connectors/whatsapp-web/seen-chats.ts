/**
 * What an account of WhatsApp Web has seen: when it was linked, the phone numbers of LIDs, and the last message of its chats. Kept in the
 * store, so that a person stays the same person, and so that history can be asked for after a restart.
 */
import type { Op } from "../../../core/store/change.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { bounded } from "../chat/bounded.ts";
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

type SeenChat = readonly [chat: string, key: WebKey, at: number];

const chatsIn = (text: string | undefined): readonly SeenChat[] =>
  text === undefined ? [] : (JSON.parse(text) as readonly SeenChat[]);

/** The newest message of each chat, the chat that was heard last at the end. History is older than what came by itself. */
function withChat(chats: readonly SeenChat[], one: SeenChat): readonly SeenChat[] {
  const known = chats.find(([chat]) => chat === one[0]);
  if (known && known[2] > one[2]) return chats;
  return [...chats.filter((other) => other !== known), one].slice(-MAX_CHATS);
}

export function seenChats(ports: AuthPorts, account: string): SeenChats {
  const [sinceKey, chatsKey] = [`whatsapp-web.since.${account}`, `whatsapp-web.chats.${account}`];
  const lidKey = (lid: string): string => `whatsapp-web.lid.${account}.${lid}`;
  const phones = bounded<string>(MAX_LIDS);
  let chats: readonly SeenChat[] = [];
  /** Heard since they were stored last. */
  let fresh: readonly SeenChat[] = [];
  let since: number | undefined;
  let isSaving = false;
  let last: Promise<void> = Promise.resolve();
  /** One change after the other: each adds to what is stored, and chats are handled beside each other. */
  const inTurn = (change: () => Promise<void>): Promise<void> => {
    const now = last.then(change);
    last = now.catch(() => undefined);
    return now;
  };
  const put = async (key: string, value: string): Promise<void> => {
    const op: Op = { op: "fact.put", key, value };
    await submit(ports, "whatsapp-web.seen", [op]);
  };
  /** Adds to what is stored, so that a person who was forgotten does not come back with what this process remembers. */
  const save = async (): Promise<void> => {
    isSaving = false;
    const stored = chatsIn(await ports.store.fact(chatsKey));
    const added = fresh;
    if (added.length === 0) return;
    fresh = [];
    chats = added.reduce(withChat, stored);
    await put(chatsKey, JSON.stringify(chats));
  };
  return {
    async load() {
      const [at, text] = [await ports.store.fact(sinceKey), await ports.store.fact(chatsKey)];
      since = at === undefined ? undefined : Number(at);
      chats = chatsIn(text);
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
      await inTurn(async () => {
        const stored = bounded<string>(MAX_LIDS);
        const before = (await ports.store.fact(lidKey("known"))) ?? "[]";
        for (const [one, phone] of [...(JSON.parse(before) as [string, string][]), [lid, userId] as const])
          stored.set(one, phone);
        await put(lidKey("known"), JSON.stringify(stored.entries()));
        // Only then: what could not be stored is tried again.
        phones.set(lid, userId);
      });
    },
    heard(chat, { remoteJid, participant, fromMe, id }, at) {
      const one: SeenChat = [chat, { remoteJid, participant, fromMe, id }, at];
      const isNew = !chats.some(([known]) => known === chat);
      chats = withChat(chats, one);
      fresh = withChat(fresh, one);
      // Which chats there are matters more than their last message.
      if (isNew) return void inTurn(save).catch(() => undefined);
      if (isSaving) return;
      isSaving = true;
      ports.clock.after(SAVE_AFTER_MS, () => void inTurn(save).catch(() => undefined));
    },
    latest: (limit) => chats.slice(-limit).map(([, key, at]) => ({ key, at })),
  };
}

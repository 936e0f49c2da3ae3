/**
 * Shows in groups what a run does: one message that is edited while the run works and deleted when it ends. It is no delivery (M28). The
 * ids of those that are shown are kept in the store, so that what a killed process left behind is deleted at the next start.
 */
import { errorText } from "../../../core/errors.ts";
import type { Ids } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Store } from "../../../core/store/store.ts";
import { submit } from "../../../engine/commit/submit.ts";
import type { SendRates } from "../chat/send-rates.ts";
import type { BotApi } from "./bot-api.ts";

/** A run that ends sooner shows nothing but typing. */
const FIRST_MS = 4_000;
/** Edits share the twenty messages a minute of a group with its answers. */
const EDIT_EVERY_MS = 6_000;
const MAX_SHOWN = 100;
const MAX_TEXT = 300;

interface StatusDeps {
  readonly api: BotApi;
  readonly rates: SendRates;
  readonly ports: { readonly clock: Clock; readonly store: Store; readonly ids: Ids };
  /** The name of the account. */
  readonly account: string;
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
}

interface StatusPlace {
  readonly chatId: string;
  readonly threadId?: number;
}

/** One run in one group. No method throws or waits for the channel, but `quiet`. */
export interface StatusMessage {
  show(text: string): void;
  close(): void;
  /** Resolves when no call is under way. */
  quiet(): Promise<void>;
}

interface StatusMessages {
  open(place: StatusPlace): StatusMessage;
  /** Deletes what an earlier process has left behind. Never rejects. */
  tidy(): Promise<void>;
}

type Kept = readonly { readonly chat: string; readonly id: number }[];

export function statusMessages(deps: StatusDeps): StatusMessages {
  const { api, rates, ports, account, warn } = deps;
  const key = `telegram.status.${account}`;
  let kept: Kept = [];
  let writing: Promise<void> = Promise.resolve();
  /** Writes what is shown now, one change after the other. A failure only means that one may stay after a kill. */
  const keep = (next: Kept): Promise<void> => {
    kept = next.slice(-MAX_SHOWN);
    const value = kept.length === 0 ? null : JSON.stringify(kept);
    writing = writing.then(async () => {
      await submit(ports, "telegram.status", [{ op: "fact.put", key, value }]).catch((error) =>
        warn("the status messages could not be noted", { error: errorText(error) }),
      );
    });
    return writing;
  };
  const remove = async ({ chat, id }: Kept[number]): Promise<void> => {
    await api.call("deleteMessage", { chat_id: chat, message_id: id });
  };

  return {
    async tidy() {
      try {
        const left = JSON.parse((await ports.store.fact(key)) ?? "[]") as Kept;
        if (left.length === 0) return;
        for (const one of left) await remove(one);
        await keep([]);
      } catch (error) {
        warn("old status messages could not be deleted", { error: errorText(error) });
      }
    },
    open({ chatId, threadId }) {
      const place = { chat_id: chatId, message_thread_id: threadId };
      let text = "⏳";
      let shown = "";
      let messageId: number | undefined;
      let isClosed = false;
      let calling: Promise<void> = Promise.resolve();
      const update = async (): Promise<void> => {
        if (isClosed || text === shown || rates.admit(`status ${chatId}`, chatId) > 0) return;
        shown = text;
        if (messageId !== undefined) {
          const args = { chat_id: chatId, message_id: messageId, text };
          await rates.paced(chatId, undefined, () => api.call("editMessageText", args));
          return;
        }
        const args = { ...place, text, disable_notification: true };
        const call = await rates.paced(chatId, undefined, () => api.call("sendMessage", args));
        if (call.status !== "ok") return;
        messageId = call.result.message_id;
        await keep([...kept, { chat: chatId, id: messageId }]);
      };
      const tick = (): void => {
        calling = calling.then(update);
        cancel = ports.clock.after(EDIT_EVERY_MS, tick);
      };
      let cancel = ports.clock.after(FIRST_MS, tick);
      return {
        show(line) {
          text = `⏳ ${line}`.slice(0, MAX_TEXT);
        },
        close() {
          isClosed = true;
          cancel();
          calling = calling.then(async () => {
            if (messageId === undefined) return;
            const id = messageId;
            await remove({ chat: chatId, id });
            await keep(kept.filter((one) => one.chat !== chatId || one.id !== id));
          });
        },
        quiet: () => calling,
      };
    },
  };
}

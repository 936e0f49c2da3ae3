/**
 * Takes updates that the server brings by itself: one request for each, with a secret in its header. It is answered after the commit;
 * until then the server keeps the update and brings it again. The updates of one chat are handled in the order in which they come.
 */
import type { ChannelAnswer, ChannelRequest } from "../../../core/ports/connector.ts";
import { sameText } from "../../../engine/triggers/webhooks/check-signature.ts";
import { chatOrder, type EventWork, handledOrSkipped } from "../chat/event-work.ts";
import { parsedJson } from "../chat/parsed-json.ts";
import { idOf, orderOf } from "./update-id.ts";

const SECRET_HEADER = "x-telegram-bot-api-secret-token";
/** What the server takes as a secret. */
export const SECRET_FORM = /^[A-Za-z0-9_-]{1,256}$/u;

const STORED: ChannelAnswer = { status: 200 };
const AGAIN: ChannelAnswer = { status: 503, text: "not stored; bring it again" };

interface ReceivedUpdates {
  take(request: ChannelRequest, handle: (update: unknown) => Promise<void>): Promise<ChannelAnswer>;
}

export function receiveUpdates(secret: string, work: EventWork): ReceivedUpdates {
  const tries = new Map<number, number>();
  const inOrder = chatOrder();
  return {
    async take({ method, header, raw }, handle) {
      if (!sameText(header(SECRET_HEADER) ?? "", secret)) return { status: 401 };
      if (method !== "POST") return { status: 405, text: "updates are posted" };
      const update = parsedJson(raw);
      const id = idOf(update);
      if (id === undefined) return { status: 400, text: "the body is not an update" };
      return (await inOrder(orderOf(update), () => handledOrSkipped(work, id, () => handle(update), tries)))
        ? STORED
        : AGAIN;
    },
  };
}

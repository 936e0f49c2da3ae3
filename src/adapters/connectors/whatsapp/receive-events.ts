/**
 * Takes requests of the platform: the check of the address, and webhooks, whose signature is computed over the bytes as they came. A
 * webhook is answered after everything in it is stored; until then it comes again. The events of one chat are handled in order.
 */
import { createHmac } from "node:crypto";
import type { ChannelAnswer, ChannelRequest } from "../../../core/ports/connector.ts";
import { sameText } from "../../../engine/triggers/webhooks/check-signature.ts";
import { chatOrder, type EventWork, handledOrSkipped } from "../chat/event-work.ts";
import { parsedJson } from "../chat/parsed-json.ts";
import { type Event, readBody, type Value } from "./read-event.ts";

const SIGNATURE_HEADER = "x-hub-signature-256";

const STORED: ChannelAnswer = { status: 200 };
const AGAIN: ChannelAnswer = { status: 503, text: "not stored; bring it again" };

interface ReceiveDeps extends EventWork {
  readonly appSecret: string;
  readonly verifyToken: string;
}

type HandleEvent = (value: Value, event: Event) => Promise<void>;

interface ReceivedEvents {
  take(request: ChannelRequest, handle: HandleEvent): Promise<ChannelAnswer>;
}

export const signatureOf = (appSecret: string, raw: Uint8Array): string =>
  `sha256=${createHmac("sha256", appSecret).update(raw).digest("hex")}`;

export function receiveEvents(deps: ReceiveDeps): ReceivedEvents {
  const tries = new Map<string, number>();
  const inOrder = chatOrder();
  return {
    async take({ method, query, header, raw }, handle) {
      if (method === "GET") return verified(deps, query);
      if (!sameText(header(SIGNATURE_HEADER) ?? "", signatureOf(deps.appSecret, raw))) return { status: 401 };
      // What is signed and cannot be read is the same the next time.
      const values = readBody(parsedJson(raw));
      if (values.length === 0) deps.log.debug("a webhook has no messages", { account: deps.account });
      const all = values.flatMap((value) => value.events.map((event) => ({ value, event })));
      const chats = Map.groupBy(all, ({ value, event }) => `${value.phoneNumberId}/${event.chat}`);
      const stored = await Promise.all(
        [...chats].map(([chat, ofChat]) =>
          inOrder(chat, async () => {
            for (const { value, event } of ofChat) {
              if (!(await handledOrSkipped(deps, event.id, () => handle(value, event), tries))) return false;
            }
            return true;
          }),
        ),
      );
      return stored.every(Boolean) ? STORED : AGAIN;
    },
  };
}

/** The platform asks whether the address is ours. */
function verified({ verifyToken }: ReceiveDeps, query: ChannelRequest["query"]): ChannelAnswer {
  const challenge = query["hub.challenge"] ?? "";
  if (query["hub.mode"] !== "subscribe" || !sameText(query["hub.verify_token"] ?? "", verifyToken))
    return { status: 401 };
  return /^[\w-]{1,256}$/u.test(challenge) ? { status: 200, text: challenge } : { status: 400, text: "no challenge" };
}

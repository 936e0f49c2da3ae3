/**
 * One number of the WhatsApp Cloud API. The platform brings messages, and is answered after their commit, so a crash in between brings
 * them again; the engine knows them by (number, chat, message). A send whose outcome is unknown is never repeated.
 */
import { targetKey } from "../../../core/delivery/target-key.ts";
import { ChannelUnavailableError, ConfigError } from "../../../core/errors.ts";
import type { Connector, ConnectorHost, LiveView, Refused } from "../../../core/ports/connector.ts";
import type { AccountToOpen } from "../accounts/connector-kind.ts";
import { type RateLimits, sendRates } from "../chat/send-rates.ts";
import { takeMessage, takeNote, takeReaction } from "../chat/take-in.ts";
import { closedWindows } from "./closed-windows.ts";
import { choicesBody, isGroupChat, recipientOf, textBody } from "./message-body.ts";
import { type NumberOf, numbersOf } from "./numbers.ts";
import type { Event, ReadStatus, Value } from "./read-event.ts";
import { receiveEvents } from "./receive-events.ts";
import { CLOSED_TEXT, type Sender, sendDelivery, WINDOW_CLOSED } from "./send-message.ts";
import { takePress } from "./take-press.ts";
import { markRead, typingView } from "./typing-view.ts";
import { fileUploads } from "./upload-files.ts";
import { WHATSAPP, WHATSAPP_CHANNEL } from "./whatsapp-kind.ts";

interface WhatsappOptions extends Omit<AccountToOpen, "load"> {
  readonly appSecret: string;
  readonly verifyToken: string;
}

/** A number may send eighty messages a second. */
const RATES: RateLimits = { perChatMs: 100, groupPerMinute: 60, perSecond: 70, isGroup: isGroupChat };

export function whatsappConnector(options: WhatsappOptions): Connector {
  const { name, ports, webhookUrl } = options;
  const { clock, log, store } = ports;
  const stop = new AbortController();
  const numbers = numbersOf(options);
  const own = numbers.own;
  const windows = closedWindows(store);
  const rates = sendRates(clock, RATES);
  const views = new Set<LiveView>();
  let problem: string | undefined;
  let lastError: { at: number; text: string } | undefined;
  let lagMs: number | undefined;
  let shownAs: string | undefined;
  let calledAt: number | undefined;
  const failed = (text: string): void => {
    problem = text;
    lastError = { at: clock.now(), text };
  };
  const uploads = fileUploads(own.api, clock, stop.signal);
  const sender: Sender = { api: own.api, rates, windows, uploads, template: own.settings.template, onProblem: failed };
  const warn = (message: string, fields: Readonly<Record<string, string | undefined>>): void =>
    log.warn(message, { account: name, ...fields });

  const handle = async (host: ConnectorHost, value: Value, { id, read }: Event): Promise<void> => {
    const number = numbers.find(value.phoneNumberId);
    if (!number) {
      return warn("an event is for a number that is not in the configuration; it is skipped", {
        number: value.phoneNumberId,
        update: id,
      });
    }
    const takeIn = number.takeIn(host, value.ourNumber);
    switch (read.kind) {
      case "message": {
        windows.open(value.phoneNumberId, read.chatId);
        const accepted = await takeMessage(takeIn, read);
        if (accepted?.status === "refused") void tell(number, read.chatId, accepted);
        if (accepted?.status !== "accepted") return;
        lagMs = Math.max(0, clock.now() - read.sentAt);
        if (number.settings.readMarks) void markRead(number.api, read.messageId, false);
        return;
      }
      case "reaction":
        return takeReaction(takeIn, read);
      case "revoke":
        return takeNote(takeIn, read, {
          ...{ id: `revoke-${read.revokeId}`, sentAt: read.sentAt, userName: read.userName },
          text: `${read.userName} deleted message ${read.messageId}.`,
        });
      case "press":
        windows.open(value.phoneNumberId, read.chatId);
        return takePress(number.api, takeIn, read);
      case "status":
        return takeStatus(host, number, read);
      case "ignored":
        if (read.reason.startsWith("malformed"))
          warn("an update is malformed and is skipped", { update: id, reason: read.reason });
        return;
    }
  };
  /** A message that failed because the 24 hours are over is sent as a template, if there is one. */
  const takeStatus = async (host: ConnectorHost, number: NumberOf, read: ReadStatus): Promise<void> => {
    const isClosed = read.code === WINDOW_CLOSED;
    if (isClosed) windows.close(number.api.phoneNumberId, read.chatId);
    const again = isClosed && number.settings.template !== undefined;
    await host.receipt?.({
      ...{ deliveryId: read.deliveryId, attempt: read.attempt },
      status: again ? "again" : read.status,
      reason: isClosed ? CLOSED_TEXT : read.reason,
      receipt: read.receipt,
    });
  };
  /** One line to someone who is not known. Best effort: it is no delivery, and is never repeated. */
  const tell = async ({ api }: NumberOf, chat: string, { say, buttons }: Refused): Promise<void> => {
    if (say === undefined) return;
    const body = buttons ? choicesBody(say, buttons) : textBody(say, say);
    const call = await api.message({ ...recipientOf(chat), ...body }, stop.signal);
    if (call.status !== "ok") warn("a stranger could not be told how to be let in", { reason: call.reason });
  };

  const received = receiveEvents({ ...options, log, account: name, onProblem: failed });

  return {
    name: WHATSAPP_CHANNEL,
    ...WHATSAPP.traits,
    once: true,
    async start(host) {
      const found = await own.api.number(stop.signal);
      if (found.status === "refused") {
        throw new ConfigError(
          `WhatsApp does not take the token for the number ${own.api.phoneNumberId}: ${found.reason}`,
          {
            hint: "Copy the token and the phone number id again from the settings of your app at Meta.",
          },
        );
      }
      if (found.status !== "ok") throw new ChannelUnavailableError(`WhatsApp cannot be reached: ${found.reason}`);
      const { display_phone_number: shown = own.api.phoneNumberId, verified_name: called } = found.result;
      shownAs = called ? `${shown} (${called})` : shown;
      sender.files = host.files;
      log.info("a number of WhatsApp is connected", { account: name, number: shownAs, webhook: webhookUrl });
    },
    async receive(request, host) {
      const answer = await received.take(request, (value, event) => handle(host, value, event));
      if (answer.status === 200) {
        calledAt = clock.now();
        problem = undefined;
      }
      return answer;
    },
    async stop() {
      stop.abort();
      for (const view of views) view.close();
    },
    health: () => ({
      ok: problem === undefined && shownAs !== undefined,
      detail:
        problem ??
        (shownAs === undefined
          ? "not connected"
          : `${shownAs}${calledAt === undefined ? "; no webhook has come yet" : ""}`),
      lastError,
      lagMs,
    }),
    admit: (target) => rates.admit(targetKey(target), target.to ?? ""),
    async send(delivery, signal) {
      const result = await sendDelivery(sender, delivery, signal);
      if (result.status === "sent") problem = undefined;
      return result;
    },
    view(_target, { replyToId }) {
      if (stop.signal.aborted || replyToId === undefined || !own.settings.drafts) return undefined;
      const view = typingView({ api: own.api, clock, messageId: replyToId }, () => views.delete(view));
      views.add(view);
      return view;
    },
  };
}

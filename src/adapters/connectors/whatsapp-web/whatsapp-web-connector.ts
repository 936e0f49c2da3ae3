/**
 * One phone over WhatsApp Web. A message is committed as soon as it is handed over, and a commit that fails is tried again here: WhatsApp
 * counts the message as delivered before this program has it, so it is not delivered again. A kill in that moment loses it; history that is
 * asked for after each connection brings back what the phone still has.
 */

import { errorText } from "../../../core/errors.ts";
import { sleep } from "../../../core/ports/clock.ts";
import type { Connector, ConnectorHost, LiveView, OutgoingDelivery } from "../../../core/ports/connector.ts";
import type { AccountToOpen } from "../accounts/connector-kind.ts";
import { bounded } from "../chat/bounded.ts";
import { chatOrder, handledOrSkipped } from "../chat/event-work.ts";
import { groupWindow } from "../chat/group-window.ts";
import { type TakeIn, takeMessage, takeNote, takeReaction } from "../chat/take-in.ts";
import { askHistory } from "./ask-history.ts";
import { afterClose } from "./close-rules.ts";
import { fetchMedia } from "./fetch-media.ts";
import { messageIdOf, readWebMessage, type Self, userOf } from "./read-web-message.ts";
import { seenChats } from "./seen-chats.ts";
import { jidOf, sendOverWeb } from "./send-web.ts";
import { storedAuth } from "./stored-auth.ts";
import { webTypingView } from "./typing-view.ts";
import type { OpenWeb, WebKey, WebMessage, WebSocketPort } from "./web-port.ts";
import { WHATSAPP_WEB, WHATSAPP_WEB_CHANNEL } from "./whatsapp-web-kind.ts";

export interface WhatsappWebOptions extends Omit<AccountToOpen, "load"> {
  readonly openWeb: OpenWeb;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
/** A message that is not stored is tried again after this long, until it is. */
const STORE_PAUSE_MS = 1_000;
const STOP_MS = 5_000;
const MAX_AGE_MS = 14 * 24 * 3600_000;
/** The server has it. */
const SERVER_ACK = 2;

export function whatsappWebConnector(options: WhatsappWebOptions): Connector {
  const { name, accountId, settings, ports, openWeb } = options;
  const { clock, log } = ports;
  const auth = storedAuth(ports, name);
  const seen = seenChats(ports, name);
  const history = askHistory(seen);
  const stop = new AbortController();
  const inOrder = chatOrder();
  const window = groupWindow();
  const subjects = bounded<string>(500);
  const writers = bounded<string>(5_000);
  const deliveries = bounded<Pick<OutgoingDelivery, "id" | "attempt">>(5_000);
  const taken = bounded<true>(10_000);
  const tries = new Map<string, number>();
  const views = new Set<LiveView>();
  const working = new Set<Promise<unknown>>();
  let host: ConnectorHost | undefined;
  let socket: WebSocketPort | undefined;
  let isOpen = false;
  let failures = 0;
  let login: { qr?: string; pairingCode?: string } | undefined;
  let problem: string | undefined = "connecting";
  let lastError: { at: number; text: string } | undefined;
  let lagMs: number | undefined;
  let hasAskedForCode = false;

  const warn = (message: string, fields: Readonly<Record<string, string | undefined>> = {}): void =>
    log.warn(message, { account: name, ...fields });
  const failed = (text: string): void => {
    problem = text;
    lastError = { at: clock.now(), text };
  };
  const self = (): Self => {
    const me = socket?.me();
    return { phone: userOf(me?.id), lid: userOf(me?.lid) || undefined };
  };
  const follow = (work: Promise<unknown>): void => {
    working.add(work);
    void work
      .catch((error) => warn("an event was not handled", { error: errorText(error) }))
      .finally(() => working.delete(work));
  };

  const connect = async (): Promise<void> => {
    if (stop.signal.aborted) return;
    const mine = await openWeb({ auth, warn: (text) => warn("WhatsApp Web", { problem: text }) });
    socket = mine;
    mine.on("connection.update", (update) => follow(changed(mine, update)));
    mine.on("messages.upsert", (brought) => take(brought?.messages, mine));
    mine.on("messaging-history.set", (brought) => take(brought?.messages));
    mine.on("messages.update", (updates) => {
      for (const one of listOf(updates)) follow(acknowledged(one?.key, one?.status));
    });
  };
  const again = async (pauseMs: number): Promise<void> => {
    if (pauseMs > 0) await sleep(clock, pauseMs, stop.signal);
    await connect().catch((error) => {
      failed(errorText(error));
      failures += 1;
      follow(again(pauseOf(failures)));
    });
  };
  const changed = async (
    mine: WebSocketPort,
    { connection, qr, closeCode, reason }: { connection?: string; qr?: string; closeCode?: number; reason?: string },
  ): Promise<void> => {
    if (mine !== socket || stop.signal.aborted) return;
    if (qr !== undefined) await asked(mine, qr);
    if (connection === "open") {
      [isOpen, failures, login, problem, hasAskedForCode] = [true, 0, undefined, undefined, false];
      log.info("a phone is linked over WhatsApp Web", { account: name });
      await seen.linked();
      await history.connected(mine);
    }
    if (connection !== "close") return;
    [isOpen, login] = [false, undefined];
    const next = afterClose(closeCode);
    failed("say" in next ? next.say : `closed by WhatsApp: ${closeCode ?? "?"} ${reason ?? ""}`.trim());
    warn("a connection of WhatsApp Web was closed", { code: String(closeCode ?? "?"), next: next.do });
    if (next.do === "stop") return;
    if (next.do === "log-in") await auth.clear();
    failures += next.do === "back-off" ? 1 : 0;
    follow(again(next.do === "back-off" ? pauseOf(failures) : 0));
  };
  /** WhatsApp waits for a person: a code to scan, or one to type on the phone. */
  const asked = async (mine: WebSocketPort, qr: string): Promise<void> => {
    if (settings.pairPhone === undefined) {
      login = { qr };
      failed("waits for you to scan a code: open Linked devices on the phone, and run `rookery channels list`");
    } else if (!hasAskedForCode) {
      hasAskedForCode = true;
      login = { pairingCode: await mine.requestPairingCode(settings.pairPhone) };
      // Not the code itself: more people see what is wrong than may see a login.
      failed("waits for you to enter a code on the phone, under Linked devices: run `rookery channels list`");
    }
  };

  /** `from`: the connection that they came over by themselves; absent for history. */
  const take = (messages: readonly WebMessage[] | undefined, from?: WebSocketPort): void => {
    for (const message of listOf(messages))
      follow(inOrder(String(message?.key?.remoteJid), () => stored(message, from)));
  };
  /** Tries until it is stored: WhatsApp does not deliver it again. */
  const stored = async (message: WebMessage, from: WebSocketPort | undefined): Promise<void> => {
    const id = String(message?.key?.id);
    const work = { log, account: name, onProblem: failed };
    const known = `${message?.key?.remoteJid} ${id}`;
    // History is mostly what we have. The store recognises the rest.
    if (!from && taken.get(known)) return;
    while (!stop.signal.aborted) {
      if (await handledOrSkipped(work, id, () => handle(message, from), tries)) return taken.set(known, true);
      await sleep(clock, STORE_PAUSE_MS, stop.signal);
    }
  };
  const handle = async (message: WebMessage, from: WebSocketPort | undefined): Promise<void> => {
    if (!host) throw Object.assign(new TypeError("The engine has not started."), { retryable: true });
    const read = readWebMessage(message, self(), seen);
    if (read.kind === "ignored") {
      if (read.reason.startsWith("malformed"))
        warn("an update is malformed and is skipped", { update: String(message?.key?.id), reason: read.reason });
      return;
    }
    // Messages older than the link, or than our known ids, are not for us.
    if (read.sentAt < Math.max(seen.since(), clock.now() - MAX_AGE_MS)) return;
    const takeIn = takeInFor(host, message);
    if (read.kind === "reaction") return takeReaction(takeIn, read);
    if (read.kind === "revoke") {
      const text = `${read.userName} deleted message ${read.messageId}.`;
      return takeNote(takeIn, read, {
        id: `revoke-${read.revokeId}`,
        sentAt: read.sentAt,
        userName: read.userName,
        text,
      });
    }
    await seen.learn(read.lid, read.userId);
    if (read.isGroup) writers.set(read.messageId, String(message.key.participant));
    const chatTitle = read.isGroup ? await subjectOf(read.chatId) : undefined;
    const accepted = await takeMessage(takeIn, { ...read, chatTitle });
    seen.heard(read.chatId, message.key, read.sentAt);
    if (from) follow(history.heard(from, read.chatId, message.key, read.sentAt));
    if (accepted?.status === "refused" && accepted.say !== undefined)
      follow(
        socket?.sendMessage(
          jidOf(read.chatId),
          { text: accepted.say },
          { messageId: messageIdOf(`say-${read.messageId}`) },
        ) ?? Promise.resolve(),
      );
    if (accepted?.status !== "accepted") return;
    lagMs = Math.max(0, clock.now() - read.sentAt);
    if (settings.readMarks) follow(socket?.readMessages([message.key]) ?? Promise.resolve());
  };
  const subjectOf = async (jid: string): Promise<string | undefined> => {
    const known = subjects.get(jid);
    if (known !== undefined) return known || undefined;
    const subject = await socket?.groupSubject(jid).catch(() => undefined);
    subjects.set(jid, subject ?? "");
    return subject;
  };
  const takeInFor = (to: ConnectorHost, message: WebMessage): TakeIn => ({
    ...{ channel: WHATSAPP_WEB_CHANNEL, host: to, accountId, activation: settings.groups.activation, window },
    // A mention in a text is the number or the LID.
    self: { userId: self().phone, names: [self().phone, self().lid ?? ""].filter((one) => one !== "") },
    fetching: {
      files: to.files,
      download: (_, limit) => fetchMedia(socket, message, limit, { clock, signal: stop.signal }),
    },
  });
  const acknowledged = async (key: WebKey | undefined, status: number | undefined): Promise<void> => {
    const delivery = deliveries.get(String(key?.id));
    if (delivery === undefined || status === undefined) return;
    const isThere = status >= SERVER_ACK;
    if (!isThere && status !== 0) return;
    await host?.receipt?.({
      ...{
        deliveryId: delivery.id,
        attempt: delivery.attempt,
        status: isThere ? "arrived" : "failed",
        receipt: String(key?.id),
      },
      reason: isThere ? undefined : "WhatsApp did not take it.",
    });
  };

  return {
    name: WHATSAPP_WEB_CHANNEL,
    ...WHATSAPP_WEB.traits,
    once: true,
    async start(given) {
      host = given;
      await seen.load();
      await connect();
    },
    async stop() {
      stop.abort();
      isOpen = false;
      for (const view of views) view.close();
      await socket?.end().catch(() => undefined);
      // A call of the package may never end.
      const done = new AbortController();
      await Promise.race([Promise.allSettled([...working]), sleep(clock, STOP_MS, done.signal)]);
      done.abort();
    },
    health: () => ({ ok: isOpen, detail: problem ?? `+${self().phone}`, lastError, lagMs, login }),
    admit: () => (isOpen ? 0 : STORE_PAUSE_MS),
    send: (delivery, signal) =>
      sendOverWeb(
        {
          socket: () => (isOpen ? socket : undefined),
          files: () => host?.files,
          participantOf: (id) => writers.get(id),
          sent: (id, { id: deliveryId, attempt }) => deliveries.set(id, { id: deliveryId, attempt }),
        },
        delivery,
        signal,
      ),
    view(target) {
      if (!isOpen || !settings.drafts || target.to === undefined) return undefined;
      const jid = jidOf(target.to);
      const show = (type: "composing" | "paused"): void =>
        follow(socket?.sendPresenceUpdate(type, jid) ?? Promise.resolve());
      const view = webTypingView(clock, show, (closed) => {
        if (views.delete(closed) && isOpen) show("paused");
      });
      views.add(view);
      return view;
    },
  };
}

/** The forms of events are not checked before they come here. */
const listOf = <T>(value: readonly T[] | undefined): readonly T[] => (Array.isArray(value) ? value : []);

const pauseOf = (failures: number): number =>
  Math.min(FIRST_PAUSE_MS * 2 ** Math.min(Math.max(0, failures - 1), 12), LONGEST_PAUSE_MS);

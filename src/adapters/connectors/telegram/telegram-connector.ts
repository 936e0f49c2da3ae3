/**
 * One Telegram bot. It asks for updates itself: an update is confirmed to the server only after its commit, so after a crash in between
 * the server sends it again, and the engine knows it by (bot, chat, message). A send whose outcome is unknown is never repeated.
 */
import { targetKey } from "../../../core/delivery/target-key.ts";
import { ChannelUnavailableError, ConfigError } from "../../../core/errors.ts";
import type { Connector, ConnectorHost, Refused } from "../../../core/ports/connector.ts";
import { chatCommands } from "../../../engine/commands/chat-commands.ts";
import type { AccountToOpen } from "../accounts/connector-kind.ts";
import { downloadUrl } from "../chat/fetch-files.ts";
import { groupWindow } from "../chat/group-window.ts";
import { rateNotes } from "../chat/rate-notes.ts";
import { type RateLimits, sendRates } from "../chat/send-rates.ts";
import { type TakeIn, takeMessage, takeReaction } from "../chat/take-in.ts";
import { type BotApi, DEFAULT_API_ROOT, openBotApi } from "./bot-api.ts";
import { type ChatView, draftIdOf, openView } from "./draft-view.ts";
import { pollUpdates } from "./poll-updates.ts";
import { type Bot, type ReadMessage, readUpdate } from "./read-update.ts";
import { receiveUpdates } from "./receive-updates.ts";
import { keyboardOf, type Sender, sendText } from "./send-text.ts";
import { statusMessages } from "./status-messages.ts";
import { takePress, takeStop } from "./take-press.ts";
import { TELEGRAM, TELEGRAM_CHANNEL } from "./telegram-kind.ts";
import { setWebhook, type Webhook, watchWebhook } from "./watch-webhook.ts";

interface TelegramOptions extends Omit<AccountToOpen, "load"> {
  readonly token: string;
  /** Present: the server posts updates there. Absent: they are asked for. */
  readonly webhook?: Webhook;
}

const RATES: RateLimits = {
  ...{ perChatMs: 1_050, groupPerMinute: 19, perSecond: 22 },
  isGroup: (chat) => chat.startsWith("-"),
};
/** Longer than the longest poll. */
const CALL_SECONDS = 75;
const ACCEPTED_REACTION = "👀";
/** Drafts and typing marks of all chats in one second. */
const VIEWS_PER_SECOND = 10;
/** How long a request for messages waits for one. */
const POLL_SECONDS = 30;

export function telegramConnector(options: TelegramOptions): Connector {
  const { name, accountId, settings, token, webhook, ports } = options;
  const { clock, log } = ports;
  const { apiRoot = DEFAULT_API_ROOT, linkPreviews } = settings;
  const api = openBotApi({ token, apiRoot, timeoutSeconds: CALL_SECONDS, linkPreviews });
  const notes = rateNotes(ports, `telegram.rates.${name}`);
  const rates = sendRates(clock, { ...RATES, notes });
  const warn: Sender["warn"] = (message, fields) => log.warn(message, { account: name, ...fields });
  const sender: Sender = { api, rates, warn };
  const stop = new AbortController();
  const views = new Map<string, Set<ChatView>>();
  const statuses = statusMessages({ api, rates, ports, account: name, warn });
  const mayView = perSecond(clock.monotonic.bind(clock), VIEWS_PER_SECOND);
  let polling: Promise<void> = Promise.resolve();
  let problem: { at: number; text: string } | undefined;
  let lastError: { at: number; text: string } | undefined;
  let lagMs: number | undefined;
  let bot: Bot | undefined;

  const handle = async (host: ConnectorHost, by: Bot, update: unknown): Promise<void> => {
    const takeIn = takeInFor(host, by);
    const read = readUpdate(update, by);
    switch (read.kind) {
      case "message": {
        const accepted = await takeMessage(takeIn, read);
        if (accepted?.status === "refused") void tell(read, accepted);
        if (accepted?.status !== "accepted") return;
        lagMs = Math.max(0, clock.now() - read.sentAt);
        if (settings.reactions) void react(api, read.chatId, read.messageId);
        return;
      }
      case "stop":
        return takeStop(takeIn, read);
      case "reaction":
        return takeReaction(takeIn, read);
      case "press":
        return takePress(api, takeIn, read);
      case "ignored":
        if (read.reason.startsWith("malformed"))
          warn("an update is malformed and is skipped", { update: read.updateId, reason: read.reason });
        return;
    }
  };
  /** One line to someone who is not known. Best effort: this is not a delivery and is never repeated. */
  const tell = async (to: Pick<ReadMessage, "chatId" | "threadId">, { say, buttons }: Refused): Promise<void> => {
    if (say === undefined) return;
    const { chatId, threadId } = to;
    const reply_markup = buttons && keyboardOf(buttons);
    const args = { chat_id: chatId, message_thread_id: threadId, text: say, reply_markup };
    const call = await rates.paced(chatId, stop.signal, () => api.call("sendMessage", args, stop.signal));
    if (call.status !== "ok") warn("a stranger could not be told how to be let in", { reason: call.reason });
  };
  const failed = (text: string): void => {
    problem = { at: clock.now(), text };
    lastError = problem;
  };
  const worked = (): void => {
    problem = undefined;
  };
  const window = groupWindow();
  const takeInFor = (host: ConnectorHost, by: Bot): TakeIn => ({
    ...{ channel: TELEGRAM_CHANNEL, host, accountId, activation: settings.groups.activation, window },
    self: { userId: String(by.id), names: [by.username] },
    fetching: {
      files: host.files,
      download: async ({ fileId }, limit) => {
        const found = await api.call("getFile", { file_id: fileId });
        if (found.status === "refused") return { refused: found.reason };
        const path = found.status === "ok" ? found.result.file_path : undefined;
        if (path === undefined) throw new TypeError("the server did not say where it is");
        return downloadUrl(api.fileUrl(path), limit);
      },
    },
  });
  const work = { log, account: name, onProblem: failed };
  let known: Promise<Bot> | undefined;
  /** Who the bot is, for a request that comes before the account has started here. Asked once. */
  const botNow = async (): Promise<Bot> => {
    known ??= signIn(api, stop.signal).catch((error) => {
      known = undefined;
      throw error;
    });
    return bot ?? known;
  };
  const received = webhook && receiveUpdates(webhook.secret, work);

  return {
    name: TELEGRAM_CHANNEL,
    ...TELEGRAM.traits,
    once: true,
    async start(host: ConnectorHost) {
      const signedIn = await signIn(api, stop.signal);
      sender.files = host.files;
      await registerCommands(api, host.reading?.().commands ?? true, warn);
      if (webhook) await setWebhook(api, webhook, stop.signal);
      else await deleteWebhook(api, stop.signal);
      rates.restore(await notes.read());
      void statuses.tidy();
      bot = signedIn;
      log.info("a bot of Telegram is connected", { account: name, bot: bot.username });
      const watching = { api, clock, onProblem: failed, onAnswer: worked };
      const handleHere = (update: unknown): Promise<void> => handle(host, signedIn, update);
      polling = webhook
        ? watchWebhook(watching, webhook, stop.signal)
        : pollUpdates({ ...work, ...watching, handle: handleHere, timeoutSeconds: POLL_SECONDS }, stop.signal);
    },
    receive: async (request, host) => received?.take(request, async (update) => handle(host, await botNow(), update)),
    async stop() {
      stop.abort();
      for (const ofChat of views.values()) for (const view of ofChat) view.close();
      await polling;
    },
    health: () => ({
      ok: problem === undefined && bot !== undefined,
      detail: problem?.text ?? (bot ? `@${bot.username}` : "not connected"),
      lastError,
      lagMs,
    }),
    admit: (target) => rates.admit(targetKey(target), target.to ?? ""),
    async send(delivery, signal) {
      await Promise.all([...(views.get(delivery.target.to ?? "") ?? [])].map((view) => view.quiet()));
      return sendText(sender, delivery, signal);
    },
    view(target, { runId }) {
      const chatId = target.to ?? "";
      if (stop.signal.aborted || !/^-?\d{1,20}$/u.test(chatId)) return undefined;
      const ofChat = views.get(chatId) ?? new Set<ChatView>();
      views.set(chatId, ofChat);
      const isPrivate = !chatId.startsWith("-");
      const threadId = target.threadId === undefined ? undefined : Number(target.threadId);
      const draftId = isPrivate && settings.drafts ? draftIdOf(runId) : undefined;
      const status = isPrivate || !settings.drafts ? undefined : statuses.open({ chatId, threadId });
      const view = openView({ api, clock, chatId, threadId, draftId, status, mayCall: mayView }, () => {
        ofChat.delete(view);
        if (ofChat.size === 0 && views.get(chatId) === ofChat) views.delete(chatId);
      });
      ofChat.add(view);
      return view;
    },
  };
}

/** Who the bot is. Rejects with what to do if the token is wrong. */
async function signIn(api: BotApi, signal: AbortSignal): Promise<Bot> {
  const me = await api.call("getMe", undefined as never, signal);
  if (me.status === "refused" && (me.code === 401 || me.code === 404)) {
    throw new ConfigError("Telegram does not know this token.", { hint: "Copy the token of the bot from @BotFather." });
  }
  if (me.status !== "ok") throw new ChannelUnavailableError(`Telegram cannot be reached: ${me.reason}`);
  return { id: me.result.id, username: me.result.username };
}

/** A webhook that is set keeps updates away from a bot that asks for them. */
async function deleteWebhook(api: BotApi, signal: AbortSignal): Promise<void> {
  const gone = await api.call("deleteWebhook", {}, signal);
  if (gone.status !== "ok") throw new ChannelUnavailableError(`Telegram cannot be reached: ${gone.reason}`);
}

/** The list that clients show after a slash. A failure changes nothing else. */
async function registerCommands(api: BotApi, on: boolean, warn: Sender["warn"]): Promise<void> {
  const commands = on ? chatCommands.map(({ name, help }) => ({ command: name, description: help.slice(0, 256) })) : [];
  const call = await api.call("setMyCommands", { commands });
  if (call.status !== "ok") warn("the commands could not be registered", { reason: call.reason });
}

async function react(api: BotApi, chatId: string, messageId: string): Promise<void> {
  await api.call("setMessageReaction", {
    chat_id: chatId,
    message_id: Number(messageId),
    reaction: [{ type: "emoji", emoji: ACCEPTED_REACTION }],
  });
}

/** Allows this many calls per second. */
function perSecond(now: () => number, limit: number): () => boolean {
  let since = Number.NEGATIVE_INFINITY;
  let used = 0;
  return () => {
    if (now() - since >= 1_000) [since, used] = [now(), 0];
    used += 1;
    return used <= limit;
  };
}

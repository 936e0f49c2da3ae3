/** Telegram as a kind of connector. The library and the connector are loaded when the first account starts. */
import { ConfigError } from "../../../core/errors.ts";
import type { ConnectorKindDefinition } from "../accounts/connector-kind.ts";

export const TELEGRAM_CHANNEL = "telegram";

/** The server counts characters after the markup is read; a part of a text is never longer when it is shown. */
const MAX_TEXT = 4_000;
const DAY_MS = 24 * 3600_000;

export const TELEGRAM: ConnectorKindDefinition = {
  notes: {
    title: "Telegram",
    drafts: "a draft with Stop; in groups a status message",
    threads: "topics",
    crash: { in: "nothing", out: "a send under way is listed as `unconfirmed`" },
  },
  traits: {
    capabilities: {
      sendText: true,
      sendFiles: { modes: ["document", "photo", "video", "voice"] },
      reactions: true,
      typing: true,
      edits: true,
      buttons: true,
      maxTextLength: MAX_TEXT,
      formatPrompt:
        "Write Markdown for a chat: short paragraphs, lists, **bold**, `code`. Tables are shown; keep them narrow. Do not write HTML.",
    },
    // The server cannot say whether a message arrived.
    sendingClass: "ambiguous",
    // The server keeps updates for a day.
    replayHorizonMs: 3 * DAY_MS,
  },
  async open(account) {
    const { token, webhook } = account.settings;
    if (!token) throw new ConfigError(`connectors.${account.name}.token is missing.`);
    if (webhook && account.webhookUrl === undefined) {
      throw new ConfigError(`connectors.${account.name}.webhook has no public address.`, {
        hint: "Set gateway.publicUrl.",
      });
    }
    const { telegramConnector } = await import("./telegram-connector.ts");
    const url = account.webhookUrl ?? "";
    return telegramConnector({
      ...account,
      token: account.reveal(token),
      webhook: webhook && { url, secret: account.reveal(webhook.secret) },
    });
  },
};

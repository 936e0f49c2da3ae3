/** The WhatsApp Cloud API as a kind of connector: one account is one phone number of a business. The connector is loaded when it is used. */
import { ConfigError } from "../../../core/errors.ts";
import type { ConnectorKindDefinition } from "../accounts/connector-kind.ts";

export const WHATSAPP_CHANNEL = "whatsapp";

/** The server takes 4,096 characters; our markup may add a few. */
const MAX_TEXT = 4_000;
const DAY_MS = 24 * 3600_000;

export const WHATSAPP: ConnectorKindDefinition = {
  notes: {
    title: "WhatsApp Cloud API",
    drafts: "read mark and typing",
    crash: { in: "nothing", out: "a send under way is listed as `unconfirmed` until its status comes" },
  },
  traits: {
    capabilities: {
      sendText: true,
      sendFiles: { modes: ["document", "photo", "video", "voice"] },
      reactions: true,
      typing: true,
      buttons: true,
      maxTextLength: MAX_TEXT,
      formatPrompt:
        "Write Markdown for a chat on a phone: short paragraphs, lists, **bold**, `code`. Tables and headings are hard to read; avoid them.",
    },
    // The API takes no key and cannot be asked. A status that comes later may still say that a message arrived.
    sendingClass: "ambiguous",
    // The server brings an event again for up to seven days.
    replayHorizonMs: 9 * DAY_MS,
  },
  async open(account) {
    const { name, settings, reveal } = account;
    const { token, phoneNumberId, appSecret, webhook } = settings;
    if (!token || !phoneNumberId || !appSecret || !webhook) {
      const missing = Object.entries({ token, phoneNumberId, appSecret, "webhook.secret": webhook }).find(
        ([, one]) => !one,
      );
      throw new ConfigError(`connectors.${name}.${missing?.[0]} is missing.`);
    }
    const { whatsappConnector } = await import("./whatsapp-connector.ts");
    return whatsappConnector({ ...account, appSecret: reveal(appSecret), verifyToken: reveal(webhook.secret) });
  },
};

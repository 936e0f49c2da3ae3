/** WhatsApp Web as a kind of connector: one account is a phone that this program is linked to. Its package is installed into the home. */
import type { ConnectorKindDefinition } from "../accounts/connector-kind.ts";
import { OPTIONAL_PACKAGES } from "../packages/optional-package.ts";

export const WHATSAPP_WEB_CHANNEL = "whatsapp-web";

const MAX_TEXT = 4_000;
const DAY_MS = 24 * 3600_000;

export const WHATSAPP_WEB: ConnectorKindDefinition = {
  notes: {
    title: "WhatsApp Web",
    drafts: "typing",
    crash: {
      in: "a message that was being received: WhatsApp counts it as delivered before this program has it",
      out: "a send under way is listed as `unconfirmed`",
    },
  },
  needs: OPTIONAL_PACKAGES.baileys,
  traits: {
    capabilities: {
      sendText: true,
      sendFiles: { modes: ["document", "photo", "video", "voice"] },
      reactions: true,
      typing: true,
      edits: true,
      maxTextLength: MAX_TEXT,
      formatPrompt:
        "Write Markdown for a chat on a phone: short paragraphs, lists, **bold**, `code`. Tables and headings are hard to read; avoid them.",
    },
    sendingClass: "ambiguous",
    replayHorizonMs: 15 * DAY_MS,
  },
  async open(account) {
    const [{ whatsappWebConnector }, { openBaileys }] = await Promise.all([
      import("./whatsapp-web-connector.ts"),
      import("./open-baileys.ts"),
    ]);
    const baileys = await account.load(OPTIONAL_PACKAGES.baileys);
    return whatsappWebConnector({ ...account, openWeb: openBaileys(baileys) });
  },
};

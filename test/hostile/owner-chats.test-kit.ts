/**
 * The owner's chats on WhatsApp Web and with a program, each at the test server of its channel, and everything there that carries words
 * which the owner did not type.
 */
import { whatsappWebConnector } from "../../src/adapters/connectors/whatsapp-web/whatsapp-web-connector.ts";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { seededIds } from "../../src/app/testing/ids.ts";
import { memoryStore } from "../../src/app/testing/store.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import type { Connector } from "../../src/core/ports/connector.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import { FakeProgram } from "../webhook/fake-program.ts";
import { FakeWeb } from "../whatsapp-web/fake-web.ts";

const [PHONE, MALLORY, PERSON] = ["4915002", "4915066", "olga"] as const;
const WEB = "whatsapp-web";
const PROGRAM = "webhook";

export class OwnerChats {
  readonly accounts: readonly string[] = [`${WEB}:${PHONE}`, `${PROGRAM}:${PERSON}`];
  /** Where the program posts to: known once the gateway is open. */
  gatewayPort = 0;
  readonly #web = new FakeWeb();
  readonly #program = new FakeProgram({
    bring: async (request) =>
      (await fetch(`http://127.0.0.1:${this.gatewayPort}/channels/${PROGRAM}`, { method: "POST", ...request })).status,
  });

  start(): Promise<unknown> {
    return this.#program.start();
  }

  get settings(): object {
    return { [PROGRAM]: { sendUrl: this.#program.url, webhook: { secret: this.#program.secret } } };
  }

  connector(): Connector {
    const settings = configSchema.parse({ connectors: { [WEB]: {} } }).connectors[WEB];
    if (!settings) throw new TypeError("no settings");
    const ports = { clock: systemClock, log: silentLog, store: memoryStore(), ids: seededIds("web") };
    return whatsappWebConnector({ name: WEB, settings, reveal: () => "", ports, openWeb: this.#web.open });
  }

  /** The owner sends a message on WhatsApp Web. `file`: what its file contains. */
  onWeb(message: Readonly<Record<string, unknown>>, file?: string): void {
    const id = this.#web.takeId();
    if (file !== undefined) this.#web.files.set(id, Buffer.from(file));
    const key = { remoteJid: `${PHONE}@s.whatsapp.net`, fromMe: false, id };
    this.#web.say(PHONE, "", Date.now(), { key, message });
  }

  /** A program posts a message of the owner. */
  fromProgram(text: string, file?: { readonly name: string; readonly content: string }): void {
    const files = file && [{ name: file.name, data: Buffer.from(file.content).toString("base64") }];
    this.#program.say(PERSON, text, { files });
  }

  until(holds: () => boolean): Promise<void> {
    return this.#program.until(holds);
  }

  close(): Promise<void> {
    return this.#program.close();
  }
}

const TOO_LARGE = 1e12;
const named = (fileName: string): object => ({ fileName, caption: "what is it?", mimetype: "text/plain" });
const forwarded = (text: string, contextInfo: object) => ({ extendedTextMessage: { text, contextInfo } });
const answer = (author: string, text: string) => ({
  extendedTextMessage: {
    text: "is it true?",
    contextInfo: {
      ...{ stanzaId: "Q", participant: `${author}@s.whatsapp.net` },
      quotedMessage: { conversation: text },
    },
  },
});

/** By the entry of the corpus. A program has neither quotes nor forwards: it sends only the id of the message that is answered. */
export const CARRIED: Readonly<Record<string, (chats: OwnerChats, text: string) => void>> = {
  "attachment on WhatsApp Web": (chats, text) => chats.onWeb({ documentMessage: named("notes.txt") }, text),
  "name of a document on WhatsApp Web": (chats, text) => chats.onWeb({ documentMessage: named(`${text}.txt`) }, "tea"),
  "name of a missing document on WhatsApp Web": (chats, text) =>
    chats.onWeb({ documentMessage: { ...named(`${text}.txt`), fileLength: TOO_LARGE } }),
  "quote of someone else on WhatsApp Web": (chats, text) => chats.onWeb(answer(MALLORY, text)),
  "reply to one's own message on WhatsApp Web": (chats, text) => chats.onWeb(answer(PHONE, text)),
  "forward on WhatsApp Web": (chats, text) => chats.onWeb(forwarded(text, { isForwarded: true })),
  "frequent forward on WhatsApp Web": (chats, text) => chats.onWeb(forwarded(text, { forwardingScore: 5 })),
  "contact on WhatsApp Web": (chats, text) => chats.onWeb({ contactMessage: { displayName: text } }),
  "attachment from a program": (chats, text) =>
    chats.fromProgram("summarise this", { name: "notes.txt", content: text }),
  "name of a document from a program": (chats, text) =>
    chats.fromProgram("what is it?", { name: `${text}.txt`, content: "tea" }),
};

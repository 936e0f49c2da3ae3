/** Events of every wrong form at the port of WhatsApp Web: none throws, none stops the messages behind it. */
import { whatsappWebConnector } from "../../src/adapters/connectors/whatsapp-web/whatsapp-web-connector.ts";
import { systemClock } from "../../src/adapters/system/system-clock.ts";
import { seededIds } from "../../src/app/testing/ids.ts";
import { MemoryHost } from "../../src/app/testing/kit/kit-case.ts";
import { type LogLine, recordingLog } from "../../src/app/testing/log.ts";
import { memoryStore } from "../../src/app/testing/store.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import type { Random } from "../kit/random.ts";
import { FakeWeb } from "../whatsapp-web/fake-web.ts";
import { broken, type Json } from "./break-json.ts";

export async function malformedWeb(events: number, random: Random) {
  const fake = new FakeWeb();
  const lines: LogLine[] = [];
  const settings = configSchema.parse({ connectors: { "whatsapp-web": {} } }).connectors["whatsapp-web"];
  if (!settings) throw new TypeError("no settings");
  const ports = { clock: systemClock, log: recordingLog(lines), store: memoryStore(), ids: seededIds("malformed") };
  const connector = whatsappWebConnector({
    ...{ name: "whatsapp-web", settings, reveal: () => "", ports, openWeb: fake.open },
  });
  const host = new MemoryHost();
  await connector.start(host);
  const pass = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
  while (!connector.health().ok) await pass();
  for (let n = 0; n < events; n++) {
    const { name, value } = goodOf(n, random);
    fake.emit(name as "messages.upsert", broken({ value }, random).value as never);
    if (n % 100 === 0) await pass();
  }
  fake.say("4915001", "still there?", Date.now() + 1_000);
  const end = performance.now() + 120_000;
  const isThere = (): boolean => host.messages.some(({ text }) => text === "still there?");
  while (!isThere() && performance.now() < end) await pass();
  await connector.stop();
  return { events, logged: lines.length, taken: host.messages.length, answered: isThere() };
}

function goodOf(n: number, random: Random): { readonly name: string; readonly value: Json | readonly unknown[] } {
  const key = {
    remoteJid: "491@s.whatsapp.net",
    remoteJidAlt: "77@lid",
    fromMe: false,
    id: `M${n}`,
    participant: null,
  };
  const messageTimestamp = Math.floor(Date.now() / 1_000) + 1;
  const contextInfo = {
    stanzaId: "q",
    participant: "491@s.whatsapp.net",
    mentionedJid: ["888@lid"],
    isForwarded: true,
  };
  const contents: readonly Json[] = [
    { conversation: "hi" },
    { extendedTextMessage: { text: "hi", contextInfo } },
    { imageMessage: { caption: "c", mimetype: "image/jpeg", fileLength: 3, contextInfo } },
    { ephemeralMessage: { message: { conversation: "hi" } } },
    { reactionMessage: { key: { id: "q" }, text: "👍" } },
    { protocolMessage: { type: 14, key: { id: "q" }, editedMessage: { conversation: "b" } } },
    { locationMessage: { degreesLatitude: 1, degreesLongitude: 2, name: "n" } },
  ];
  const message = { key, messageTimestamp, pushName: "P", message: contents[random.int(0, contents.length - 1)] };
  const kinds: readonly { name: string; value: Json | readonly unknown[] }[] = [
    { name: "messages.upsert", value: { messages: [message], type: "append" } },
    { name: "messaging-history.set", value: { messages: [message] } },
    { name: "messages.update", value: [{ key, status: 3 }] },
  ];
  return kinds[random.int(0, kinds.length - 1)] ?? { name: "messages.upsert", value: {} };
}

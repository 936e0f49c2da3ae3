/** A package in the place of `baileys` for the process that is killed: it speaks with the phone of the parent over HTTP. */
import { EventEmitter } from "node:events";

const url = process.env.FAKE_PHONE ?? "";
const ask = async (path, body) => {
  const answer = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body ?? {}) });
  return answer.json();
};

export const initAuthCreds = () => ({ registered: true, noiseKey: { public: Buffer.from("n") } });
export const makeCacheableSignalKeyStore = (store) => store;
export const downloadMediaMessage = async () => {
  throw new TypeError("there is no media");
};
export const proto = { Message: { AppStateSyncKeyData: { fromObject: (value) => value } } };
export const Browsers = { appropriate: () => ["a", "b", "c"] };

export function makeWASocket({ auth }) {
  const ev = new EventEmitter();
  let isOver = false;
  const run = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    ev.emit("creds.update", {});
    ev.emit("connection.update", { connection: "open" });
    for (let n = 0; !isOver; n++) {
      const events = await ask("/next").catch(() => []);
      for (const { name, value } of events) {
        // The ratchet has moved before the message is handed over.
        await auth.keys.set({ session: { [`s${n % 20}`]: Buffer.from(String(n)) } }).catch(() => undefined);
        if (!isOver) ev.emit(name, value);
      }
    }
  };
  void run();
  return {
    ev,
    user: { id: "4915999:3@s.whatsapp.net", lid: "888:3@lid" },
    authState: { creds: { registered: true, me: {} } },
    sendMessage: (jid, content, { messageId }) => ask("/send", { jid, text: content.text, messageId }),
    readMessages: async () => {},
    sendPresenceUpdate: async () => {},
    requestPairingCode: async () => "CODE",
    fetchMessageHistory: (count, key) => ask("/history", { count, jid: key.remoteJid, id: key.id }),
    updateMediaMessage: async (message) => message,
    groupMetadata: async () => ({ subject: "group" }),
    end: () => {
      isOver = true;
    },
  };
}

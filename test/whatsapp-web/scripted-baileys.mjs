/** A package in the place of `baileys` for a process under test: what its sockets say comes from the phone of the test, over HTTP. */
import { EventEmitter } from "node:events";

const ask = async (path, body, signal) => {
  const headers = { connection: "close" };
  const answer = await fetch(`${process.env.FAKE_PHONE}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal,
  });
  return answer.json();
};
let sockets = 0;

/** The keys of a session, with a value that must not be seen anywhere. */
export const initAuthCreds = () => ({ registered: false, noiseKey: { private: process.env.PLANTED_SESSION } });
export const makeCacheableSignalKeyStore = (store) => store;
export const downloadMediaMessage = async () => {
  throw new TypeError("there is no media");
};
export const proto = { Message: { AppStateSyncKeyData: { fromObject: (value) => value } } };
export const Browsers = { appropriate: () => ["a", "b", "c"] };

export function makeWASocket({ auth }) {
  const socket = ++sockets;
  const ev = new EventEmitter();
  const state = { isOver: false, user: undefined };
  const over = new AbortController();
  const run = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    await auth.keys.set({ session: { first: process.env.PLANTED_SESSION } });
    ev.emit("creds.update", {});
    while (!state.isOver) {
      const events = await ask("/next", { socket }, over.signal).catch(() => []);
      for (const { name, value } of events) {
        if (value.me) state.user = value.me;
        if (!state.isOver) ev.emit(name, value);
        if (value.connection === "close") state.isOver = true;
      }
    }
  };
  void run();
  return {
    ev,
    get user() {
      return state.user;
    },
    authState: { creds: auth.creds },
    sendMessage: (jid, content, { messageId }) => ask("/send", { jid, text: content.text, content, messageId }),
    readMessages: async () => {},
    sendPresenceUpdate: async () => {},
    requestPairingCode: async (phone) => (await ask("/pair", { phone })).code,
    fetchMessageHistory: async () => {},
    groupMetadata: async () => ({ subject: "group" }),
    updateMediaMessage: async (message) => message,
    end: () => {
      state.isOver = true;
      over.abort();
    },
  };
}

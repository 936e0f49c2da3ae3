/**
 * WhatsApp Web for tests, at the port of the connector. It counts a message as delivered before it hands it over, as the real one does; what
 * comes while no one is connected waits and comes as `append`. It outlives the connectors.
 */
import type {
  OpenWeb,
  WebEvents,
  WebKey,
  WebMessage,
  WebSocketPort,
} from "../../src/adapters/connectors/whatsapp-web/web-port.ts";

export const ME = { id: "4915999:3@s.whatsapp.net", lid: "888:3@lid" };

export interface ShownMessage {
  readonly jid: string;
  readonly id: string;
  readonly content: Record<string, unknown>;
}

export class FakeWeb {
  /** By their id: a phone shows a message once. */
  readonly shown = new Map<string, ShownMessage>();
  readonly reads: WebKey[] = [];
  readonly presences: string[] = [];
  /** What it was asked for: that many messages before this one. */
  readonly history: { readonly count: number; readonly key: WebKey; readonly at: number }[] = [];
  /** By the id of the message. Without one its address has expired; a phone may still have it. */
  readonly files = new Map<string, Uint8Array>();
  readonly onPhone = new Map<string, Uint8Array>();
  /** How downloads go wrong: they hang, or break off in the middle. */
  download: "whole" | "hangs" | "breaks" = "whole";
  readonly uploadsAsked: string[] = [];
  /** The next message counts as delivered and never comes. */
  loseNext = false;
  readonly #said: WebMessage[] = [];
  readonly pairing: string[] = [];
  pairs: "at once" | "never" = "at once";
  opened = 0;
  isLinked = true;
  /** The next send fails: before the server has it, or after. */
  failNext: ("before" | "after")[] = [];
  #waiting: WebMessage[] = [];
  #socket: Map<keyof WebEvents, ((value: never) => void)[]> | undefined;
  #ids = 0;

  readonly open: OpenWeb = async ({ auth }) => {
    this.opened += 1;
    const handlers = new Map<keyof WebEvents, ((value: never) => void)[]>();
    this.#socket = handlers;
    const port: WebSocketPort = {
      on: (event, handle) =>
        void handlers.set(event, [...(handlers.get(event) ?? []), handle as (value: never) => void]),
      me: () => (this.isLinked ? ME : undefined),
      isRegistered: () => this.isLinked,
      requestPairingCode: async (phone) => {
        this.pairing.push(phone);
        return this.pairs === "never" ? new Promise(() => undefined) : "ABCD-1234";
      },
      sendMessage: async (jid, content, { messageId = "" }) => {
        if (this.#socket !== handlers) throw new Error("Connection Closed");
        const fault = this.failNext.shift();
        if (fault === "before") throw new Error("Connection Closed");
        this.shown.set(messageId, { jid, id: messageId, content: content as Record<string, unknown> });
        if (fault === "after") throw new Error("Connection Closed");
        return { key: { id: messageId } };
      },
      readMessages: async (keys) => void this.reads.push(...keys),
      sendPresenceUpdate: async (type, jid) => void this.presences.push(`${type} ${jid}`),
      fetchMessageHistory: async (count, key, at) => {
        this.history.push({ count, key, at });
        const inChat = this.#said.filter((one) => one.key.remoteJid === key.remoteJid);
        const before = inChat
          .slice(
            0,
            Math.max(
              0,
              inChat.findIndex((one) => one.key.id === key.id),
            ),
          )
          .slice(-count);
        if (before.length > 0) setImmediate(() => this.emit("messaging-history.set", { messages: before }));
      },
      groupSubject: async () => "The group",
      download: async ({ key }) => {
        const data = this.files.get(String(key.id));
        if (!data) throw new TypeError("410 at https://mmg.whatsapp.net/secret-path");
        const how = this.download;
        return (async function* () {
          if (how === "hangs") await new Promise(() => undefined);
          yield data;
          if (how === "breaks") throw new TypeError("the stream ended early");
        })();
      },
      uploadedAgain: async (message) => {
        const id = String(message.key.id);
        this.uploadsAsked.push(id);
        const data = this.onPhone.get(id);
        if (data === undefined) return new Promise(() => undefined);
        this.files.set(`${id}-again`, data);
        return { ...message, key: { ...message.key, id: `${id}-again` } };
      },
      end: async () => {
        if (this.#socket === handlers) this.#socket = undefined;
      },
    };
    await auth.set({ session: { probe: Buffer.from("x") } });
    setImmediate(() => {
      if (this.#socket !== handlers) return;
      if (!this.isLinked) return this.emit("connection.update", { qr: `2@code-${this.opened}` });
      this.emit("connection.update", { connection: "open" });
      const messages = this.#waiting.splice(0);
      if (messages.length > 0) setImmediate(() => this.emit("messages.upsert", { messages, type: "append" }));
    });
    return port;
  };

  emit<E extends keyof WebEvents>(event: E, value: WebEvents[E]): void {
    for (const handle of this.#socket?.get(event) ?? []) handle(value as never);
  }

  close(closeCode: number): void {
    this.emit("connection.update", { connection: "close", closeCode, reason: "fake" });
  }

  get isConnected(): boolean {
    return this.#socket !== undefined;
  }

  takeId(): string {
    return `3EB0${String(++this.#ids).padStart(8, "0")}`;
  }

  /** A person writes. */
  say(phone: string, text: string, now: number, more: Partial<WebMessage> = {}): WebMessage {
    const key = { remoteJid: `${phone}@s.whatsapp.net`, fromMe: false, id: this.takeId() };
    const messageTimestamp = Math.floor(now / 1_000);
    const message: WebMessage = {
      key,
      messageTimestamp,
      pushName: `Person ${phone}`,
      message: { conversation: text },
      ...more,
    };
    this.bring(message);
    return message;
  }

  bring(message: WebMessage): void {
    this.#said.push(message);
    if (this.loseNext) this.loseNext = false;
    else if (this.#socket) this.emit("messages.upsert", { messages: [message], type: "notify" });
    else this.#waiting.push(message);
  }

  texts(): readonly string[] {
    return [...this.shown.values()].map(({ content }) => String(content.text ?? ""));
  }
}

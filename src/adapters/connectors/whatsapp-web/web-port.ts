/**
 * The part of `baileys` that the connector uses: a few events in, a few calls out. The package is optional and large, so nothing else of
 * the program knows it, and tests play this port.
 */
import type { StoredAuth } from "./stored-auth.ts";

export interface WebKey {
  readonly remoteJid?: string | null;
  /** The same chat by its other id: the phone number beside a LID, or the other way round. */
  readonly remoteJidAlt?: string | null;
  readonly participant?: string | null;
  readonly participantAlt?: string | null;
  readonly fromMe?: boolean | null;
  readonly id?: string | null;
}

export interface WebMessage {
  readonly key: WebKey;
  readonly messageTimestamp?: number | { toNumber(): number } | null;
  readonly pushName?: string | null;
  readonly message?: object | null;
}

export interface WebEvents {
  readonly "connection.update": {
    readonly connection?: "open" | "connecting" | "close";
    readonly qr?: string;
    /** Of a connection that was closed. */
    readonly closeCode?: number;
    readonly reason?: string;
  };
  /** `append`: brought after the connection, because it came while we were away. Both count. */
  readonly "messages.upsert": { readonly messages: readonly WebMessage[]; readonly type: "notify" | "append" };
  readonly "messages.update": readonly { readonly key: WebKey; readonly status?: number }[];
  readonly "messaging-history.set": { readonly messages: readonly WebMessage[] };
}

export interface WebSocketPort {
  on<E extends keyof WebEvents>(event: E, handle: (value: WebEvents[E]) => void): void;
  /** Who we are; undefined before the login. */
  me(): { readonly id: string; readonly lid?: string } | undefined;
  isRegistered(): boolean;
  requestPairingCode(phone: string): Promise<string>;
  sendMessage(jid: string, content: object, options: { readonly messageId?: string }): Promise<unknown>;
  readMessages(keys: readonly WebKey[]): Promise<unknown>;
  sendPresenceUpdate(type: "composing" | "paused", jid: string): Promise<unknown>;
  fetchMessageHistory(count: number, key: WebKey, timestamp: number): Promise<unknown>;
  groupSubject(jid: string): Promise<string | undefined>;
  download(message: WebMessage): Promise<AsyncIterable<Uint8Array>>;
  /** The phone uploads the file of a message again, whose address has expired. The result has the new address. It may never answer. */
  uploadedAgain(message: WebMessage): Promise<WebMessage>;
  end(): Promise<void>;
}

/** Opens one connection. Rejects if it cannot be begun. */
export type OpenWeb = (options: { readonly auth: StoredAuth; warn(text: string): void }) => Promise<WebSocketPort>;

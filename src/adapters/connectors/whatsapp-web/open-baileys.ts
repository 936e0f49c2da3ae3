/** The port to WhatsApp Web, by `baileys`. The only file that knows its functions; they are checked when the package is loaded. */
import { ConfigError } from "../../../core/errors.ts";
import type { OpenWeb, WebEvents, WebMessage, WebSocketPort } from "./web-port.ts";

/** What is used of the package. */
interface Baileys {
  makeWASocket(config: object): Socket;
  initAuthCreds(): object;
  makeCacheableSignalKeyStore(store: object, logger: object): object;
  downloadMediaMessage(message: object, type: "stream", options: object): Promise<AsyncIterable<Uint8Array>>;
  readonly proto: { readonly Message: { readonly AppStateSyncKeyData: { fromObject(value: object): unknown } } };
  readonly Browsers: { appropriate(name: string): unknown };
}

interface Socket {
  readonly ev: { on(event: string, handle: (value: never) => void): void };
  readonly user?: { readonly id: string; readonly lid?: string };
  readonly authState: { readonly creds: { readonly registered?: boolean; readonly me?: object } };
  sendMessage(jid: string, content: object, options: object): Promise<unknown>;
  readMessages(keys: readonly object[]): Promise<unknown>;
  sendPresenceUpdate(type: string, jid: string): Promise<unknown>;
  requestPairingCode(phone: string): Promise<string>;
  fetchMessageHistory(count: number, key: object, timestamp: number): Promise<unknown>;
  updateMediaMessage(message: object): Promise<object>;
  groupMetadata(jid: string): Promise<{ readonly subject?: string }>;
  end(error: Error | undefined): Promise<void> | void;
}

const NEEDED = [
  ...(["makeWASocket", "initAuthCreds", "makeCacheableSignalKeyStore", "downloadMediaMessage", "proto"] as const),
  "Browsers",
];

export function openBaileys(loaded: Readonly<Record<string, unknown>>): OpenWeb {
  const missing = NEEDED.find((name) => loaded[name] === undefined);
  if (missing !== undefined)
    throw new ConfigError(`The package baileys has no ${missing}. Run \`rookery doctor --fix\`.`);
  const baileys = loaded as unknown as Baileys;
  return async ({ auth, warn }) => {
    const logger = loggerOf(warn);
    const creds = ((await auth.creds()) as object | undefined) ?? baileys.initAuthCreds();
    const keys = {
      async get(type: string, ids: readonly string[]) {
        const found = await auth.get(type, ids);
        if (type !== "app-state-sync-key") return found;
        const { fromObject } = baileys.proto.Message.AppStateSyncKeyData;
        return Object.fromEntries(Object.entries(found).map(([id, value]) => [id, fromObject(value as object)]));
      },
      set: (data: Parameters<typeof auth.set>[0]) => auth.set(data),
      clear: () => auth.clear(),
    };
    const socket = baileys.makeWASocket({
      auth: { creds, keys: baileys.makeCacheableSignalKeyStore(keys, logger) },
      ...{
        logger,
        markOnlineOnConnect: false,
        syncFullHistory: false,
        browser: baileys.Browsers.appropriate("Rookery"),
      },
    });
    socket.ev.on("creds.update", () => {
      auth.saveCreds(creds).catch((error) => warn(`the session could not be stored: ${error}`));
    });
    return portOf(baileys, socket);
  };
}

interface Closed {
  readonly error?: { readonly output?: { readonly statusCode?: unknown }; readonly message?: unknown };
}

function portOf(baileys: Baileys, socket: Socket): WebSocketPort {
  const on: WebSocketPort["on"] = (event, handle) => {
    const take = handle as (value: WebEvents[keyof WebEvents]) => void;
    if (event === "connection.update") {
      return socket.ev.on(event, ({ connection, qr, lastDisconnect }: Record<string, unknown>) => {
        const { error } = (lastDisconnect ?? {}) as Closed;
        const code = error?.output?.statusCode;
        const closeCode = typeof code === "number" ? code : undefined;
        take({ connection, qr, closeCode, reason: error && String(error.message) } as WebEvents["connection.update"]);
      });
    }
    if (event === "messages.update") {
      return socket.ev.on(event, (updates: readonly { key: object; update?: { status?: number } }[]) =>
        take(updates.map(({ key, update }) => ({ key, status: update?.status }))),
      );
    }
    socket.ev.on(event, take as (value: never) => void);
  };
  return {
    on,
    me: () => socket.user,
    isRegistered: () => socket.authState.creds.registered === true || socket.authState.creds.me !== undefined,
    requestPairingCode: (phone) => socket.requestPairingCode(phone),
    // The package would fetch an address in the text itself, past our address filter, to make a preview.
    sendMessage: (jid, content, options) => socket.sendMessage(jid, { ...content, linkPreview: null }, options),
    readMessages: (keys) => socket.readMessages(keys),
    sendPresenceUpdate: (type, jid) => socket.sendPresenceUpdate(type, jid),
    fetchMessageHistory: (count, key, timestamp) => socket.fetchMessageHistory(count, key, timestamp),
    groupSubject: async (jid) => (await socket.groupMetadata(jid)).subject,
    download: (message: WebMessage) => baileys.downloadMediaMessage(message, "stream", {}),
    uploadedAgain: async (message) => (await socket.updateMediaMessage(message)) as WebMessage,
    end: async () => socket.end(undefined),
  };
}

/** Its own log has keys of people in it: only warnings are passed on, without their fields. */
function loggerOf(warn: (text: string) => void): object {
  const nothing = (): void => {};
  const say = (first: unknown, text?: unknown): void =>
    warn(typeof first === "string" ? first : typeof text === "string" ? text : "a problem of the package");
  const logger: Record<string, unknown> = {
    level: "warn",
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: say,
  };
  logger.child = () => logger;
  return logger;
}

/** The port to WhatsApp Web over a package that a test plays: what it is given, and what of its events gets through. */
import { describe, expect, it, test } from "vitest";
import { openBaileys } from "./open-baileys.ts";
import type { WebEvents } from "./web-port.ts";

interface Config {
  readonly auth: {
    readonly creds: object;
    readonly keys: { get(type: string, ids: readonly string[]): Promise<object> };
  };
  readonly logger: Record<"warn" | "error" | "info", (first: unknown, text?: unknown) => void> & { child(): unknown };
  readonly markOnlineOnConnect: boolean;
  readonly syncFullHistory: boolean;
}

async function opened(stored: unknown = undefined) {
  const handlers = new Map<string, (value: unknown) => void>();
  const calls: unknown[][] = [];
  const warnings: string[] = [];
  let config: Config | undefined;
  const note =
    (name: string, result?: unknown) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args]);
      return result;
    };
  const socket = {
    ev: { on: (event: string, handle: (value: unknown) => void) => handlers.set(event, handle) },
    user: { id: "49:3@s.whatsapp.net" },
    authState: { creds: {} as { registered?: boolean; me?: object } },
    ...{ sendMessage: note("send"), readMessages: note("read"), sendPresenceUpdate: note("presence") },
    ...{ requestPairingCode: note("pair", "CODE"), fetchMessageHistory: note("history") },
    ...{
      updateMediaMessage: note("update", { key: { id: "again" } }),
      groupMetadata: note("group", { subject: "G" }),
      end: note("end"),
    },
  };
  const loaded = {
    makeWASocket: (given: Config) => {
      config = given;
      return socket;
    },
    initAuthCreds: () => ({ fresh: true }),
    makeCacheableSignalKeyStore: (store: object) => store,
    downloadMediaMessage: note("download"),
    proto: { Message: { AppStateSyncKeyData: { fromObject: (value: object) => ({ made: value }) } } },
    Browsers: { appropriate: (name: string) => [name] },
  };
  const saved: unknown[] = [];
  const auth = {
    creds: async () => stored,
    saveCreds: async (creds: unknown) => {
      if (saved.push(structuredClone(creds)) > 1) throw new TypeError("full");
    },
    get: async (type: string) => ({ k1: { of: type } }),
    set: note("set"),
    clear: note("clear"),
  };
  const port = await openBaileys(loaded)({ auth, warn: (text: string) => void warnings.push(text) } as never);
  const emit = (event: string, value: unknown) => handlers.get(event)?.(value);
  if (!config) throw new TypeError("no socket was made");
  return { port, config, socket, emit, calls, saved, warnings, loaded };
}

describe("the package", () => {
  test.each([
    "makeWASocket",
    "initAuthCreds",
    "makeCacheableSignalKeyStore",
    "downloadMediaMessage",
    "proto",
    "Browsers",
  ])("without %s is not used, and it says what to do", async (name) => {
    const { loaded } = await opened();
    expect(() => openBaileys({ ...loaded, [name]: undefined })).toThrow(`The package baileys has no ${name}.`);
  });

  it("gets the session that is stored, or a new one, and is not shown as online", async () => {
    expect((await opened()).config.auth.creds).toEqual({ fresh: true });
    const { config } = await opened({ me: 1 });
    expect(config.auth.creds).toEqual({ me: 1 });
    expect([config.markOnlineOnConnect, config.syncFullHistory]).toEqual([false, false]);
  });

  it("gets keys as it needs them", async () => {
    const { keys } = (await opened()).config.auth;
    expect(await keys.get("session", ["k1"])).toEqual({ k1: { of: "session" } });
    expect(await keys.get("app-state-sync-key", ["k1"])).toEqual({ k1: { made: { of: "app-state-sync-key" } } });
  });

  it("has its session stored at each change, and a failure is told", async () => {
    const { config, emit, saved, warnings } = await opened();
    Object.assign(config.auth.creds, { registered: true });
    emit("creds.update", {});
    expect(saved).toEqual([{ fresh: true, registered: true }]);
    emit("creds.update", {});
    await new Promise(setImmediate);
    expect(warnings).toEqual(["the session could not be stored: TypeError: full"]);
  });

  it("is heard only in its errors, without what they are about", async () => {
    const { config, warnings } = await opened();
    config.logger.info({ key: "secret" }, "hello");
    config.logger.warn({ key: "secret" }, "hmm");
    config.logger.error({ key: "secret" }, "it failed");
    config.logger.error("as a text");
    config.logger.error({ key: "secret" });
    expect(config.logger.child()).toBe(config.logger);
    expect(warnings).toEqual(["it failed", "as a text", "a problem of the package"]);
  });
});

describe("an event", () => {
  const error = (output: unknown, message: unknown = "why") => ({ lastDisconnect: { error: { output, message } } });
  test.each<[object, WebEvents["connection.update"]]>([
    [{ connection: "open" }, { connection: "open" }],
    [{ qr: "2@x" }, { qr: "2@x" }],
    [
      { connection: "close", ...error({ statusCode: 401 }) },
      { connection: "close", closeCode: 401, reason: "why" },
    ],
    [
      { connection: "close", ...error({ statusCode: "401" }) },
      { connection: "close", reason: "why" },
    ],
    [
      { connection: "close", ...error(undefined) },
      { connection: "close", reason: "why" },
    ],
    [{ connection: "close", lastDisconnect: {} }, { connection: "close" }],
  ])("of the connection: %j", async (given, expected) => {
    const { port, emit } = await opened();
    const seen: unknown[] = [];
    port.on("connection.update", (value) => void seen.push(value));
    emit("connection.update", given);
    expect(seen).toEqual([expected]);
  });

  it("of our messages has their status; others come as they are", async () => {
    const { port, emit } = await opened();
    const seen: unknown[] = [];
    port.on("messages.update", (value) => void seen.push(value));
    port.on("messages.upsert", (value) => void seen.push(value));
    const key = { id: "A" };
    emit("messages.update", [{ key, update: { status: 3, other: 1 } }, { key }]);
    emit("messages.upsert", { messages: [], type: "notify" });
    expect(seen).toEqual([[{ key, status: 3 }, { key }], { messages: [], type: "notify" }]);
  });
});

describe("a call", () => {
  test.each([
    [{}, false],
    [{ registered: false }, false],
    [{ registered: true }, true],
    [{ me: {} }, true],
  ])("asks whether %j is registered", async (creds, expected) => {
    const { port, socket } = await opened();
    socket.authState.creds = creds;
    expect(port.isRegistered()).toBe(expected);
  });

  it("goes to the package with what it was given", async () => {
    const { port, calls } = await opened();
    const message = { key: { id: "A" } };
    expect(port.me()).toEqual({ id: "49:3@s.whatsapp.net" });
    expect(await port.requestPairingCode("49")).toBe("CODE");
    expect(await port.groupSubject("1@g.us")).toBe("G");
    expect(await port.uploadedAgain(message)).toEqual({ key: { id: "again" } });
    await port.sendMessage("49@s", { text: "x" }, { messageId: "R" });
    await port.readMessages([message.key]);
    await port.sendPresenceUpdate("composing", "49@s");
    await port.fetchMessageHistory(20, message.key, 5);
    await port.download(message);
    await port.end();
    expect(calls).toEqual([
      ["pair", "49"],
      ["group", "1@g.us"],
      ["update", message],
      ["send", "49@s", { text: "x", linkPreview: null }, { messageId: "R" }],
      ["read", [message.key]],
      ["presence", "composing", "49@s"],
      ["history", 20, message.key, 5],
      ["download", message, "stream", {}],
      ["end", undefined],
    ]);
  });
});

/**
 * A Bot API server for tests, over real HTTP: it keeps updates until an offset confirms them, refuses a second poll with 409, counts
 * breaches of the rates, and has faults that a test asks for. It shares no code with the connector.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { passTime } from "../kit/pass-time.ts";

export type Json = Record<string, unknown>;

export interface SentMessage {
  readonly id: number;
  readonly method: string;
  readonly chat: string;
  readonly thread?: number;
  /** Without markup, as a person sees it. */
  text: string;
  readonly args: Json;
  readonly at: number;
  deleted?: boolean;
  edits: string[];
}

/** What happens to one call of a method. `accept`: it is carried out, and the answer is lost. */
export type Fault =
  | { readonly answer: { readonly code: number; readonly description: string; readonly parameters?: Json } }
  | { readonly cut: "before" | "after" }
  | { readonly hang: "before" | "after" }
  | { readonly garbage: true };

export interface FakeOptions {
  readonly token?: string;
  readonly username?: string;
  /** Methods the server does not have, such as `sendRichMessage` on an old one. */
  readonly without?: readonly string[];
  /** Where a request to the address of a webhook goes in this test. */
  readonly reach?: (url: string) => string;
  /** Virtual time: it moves while the test waits for the fake. Absent: the time of the machine. */
  readonly clock?: {
    now(): number;
    monotonic(): number;
    advance(ms: number, settle?: () => Promise<void>): Promise<void>;
  };
  /** How far virtual time moves at once. */
  readonly stepMs?: number;
}

const MESSAGE_METHODS = new Set([
  "sendMessage",
  "sendRichMessage",
  "sendPhoto",
  "sendDocument",
  "sendVideo",
  "sendVoice",
  "editMessageText",
]);

/** A topic that no chat has. */
export const GONE_THREAD = 404_404;

const STEP_MS = 25;

export class FakeTelegram {
  readonly token: string;
  readonly username: string;
  readonly botId = 4242;
  readonly sent: SentMessage[] = [];
  readonly drafts: Json[] = [];
  readonly reactions: Json[] = [];
  readonly answered: Json[] = [];
  readonly calls: { readonly method: string; readonly args: Json; readonly at: number }[] = [];
  /** Offsets that confirmed updates, in order. */
  readonly offsets: number[] = [];
  readonly breaches: string[] = [];
  readonly webhooks: Json[] = [];
  readonly files = new Map<string, Buffer>();
  commands: readonly unknown[] = [];
  conflicts = 0;
  readonly #options: FakeOptions;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #sockets = new Set<Socket>();
  readonly #faults = new Map<string, Fault[]>();
  readonly #lastInChat = new Map<string, number>();
  readonly #inGroup = new Map<string, number[]>();
  readonly #times: number[] = [];
  #updates: (Json & { update_id: number })[] = [];
  #nextUpdate = 1_000;
  #nextMessage = 1;
  #poll: { end: (updates: readonly unknown[] | "conflict") => void } | undefined;
  #watchers: (() => void)[] = [];
  #step: Promise<void> | undefined;
  /** Where updates are brought; undefined: they are asked for. */
  webhook: { readonly url: string; readonly secret: string } | undefined;
  /** How each update was answered that was brought. */
  readonly brought: { readonly update: number; readonly status: number }[] = [];
  #bringing: Promise<void> | undefined;
  #lastError: { at: number; text: string } | undefined;
  #closed = false;

  constructor(options: FakeOptions = {}) {
    this.#options = options;
    this.token = options.token ?? "123456:fake-token";
    this.username = options.username ?? "rook_bot";
    this.#server.on("connection", (socket) => {
      socket.setMaxListeners(0);
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
    await this.#bringing;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The next calls of a method fail in these ways, one each. */
  fail(method: string, ...faults: readonly Fault[]): void {
    this.#faults.set(method, [...(this.#faults.get(method) ?? []), ...faults]);
  }

  /** Adds an update, which is kept until it is confirmed. */
  push(update: Json): number {
    const id = this.#nextUpdate++;
    this.#updates.push({ ...update, update_id: id });
    this.#answerPoll();
    return id;
  }

  /** Adds something that is no update. */
  pushRaw(update: unknown): void {
    this.#updates.push(update as never);
    this.#answerPoll();
  }

  /** The id of the next update, for raw ones. */
  takeId(): number {
    return this.#nextUpdate++;
  }

  /** The id of the next message, for updates that a test makes itself. */
  takeMessageId(): number {
    return this.#nextMessage++;
  }

  /** A person writes in a private chat. Returns the id of the message. */
  say(user: number, text: string, more: Json = {}): number {
    const id = this.#nextMessage++;
    this.push({
      message: { message_id: id, date: this.now(), from: person(user), chat: privateChat(user), text, ...more },
    });
    return id;
  }

  /** A person writes in a group. */
  sayIn(group: number, user: number, text: string, more: Json = {}): number {
    const id = this.#nextMessage++;
    const entities = mentionsIn(text);
    const chat = { id: group, type: "supergroup", title: `Group ${-group}` };
    this.push({ message: { message_id: id, date: this.now(), from: person(user), chat, text, entities, ...more } });
    return id;
  }

  edit(user: number, messageId: number, text: string): void {
    const message = {
      message_id: messageId,
      date: this.now(),
      edit_date: this.now() + 1,
      from: person(user),
      chat: privateChat(user),
      text,
    };
    this.push({ edited_message: message });
  }

  pressStop(user: number, draftId: number): void {
    this.push({ stopped_message_generation: { chat: privateChat(user), draft_id: draftId } });
  }

  press(user: number, messageId: number, data: string, chat: Json = privateChat(user)): void {
    const message = { message_id: messageId, date: this.now(), chat };
    this.push({
      callback_query: { id: `press-${this.#nextUpdate}`, from: person(user), message, chat_instance: "1", data },
    });
  }

  now(): number {
    return Math.floor((this.#options.clock?.now() ?? Date.now()) / 1_000);
  }

  /** Updates that no offset has confirmed. */
  get pending(): number {
    return this.#updates.length;
  }

  textsTo(chat: number): readonly string[] {
    return this.sent.filter((one) => one.chat === String(chat) && !one.deleted).map(({ text }) => text);
  }

  /** Resolves when the condition holds, checked after every call. */
  async until(holds: () => boolean, ms = 60_000): Promise<void> {
    if (holds()) return;
    if (this.#options.clock) return this.#untilMoved(holds, ms);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new Error(
              `the fake waited too long; sent: ${JSON.stringify(this.sent.slice(-6).map(({ chat, text }) => [chat, text]))}`,
            ),
          ),
        ms,
      );
      const watch = (): void => {
        if (!holds()) {
          this.#watchers.push(watch);
          return;
        }
        clearTimeout(timer);
        resolve();
      };
      this.#watchers.push(watch);
    });
  }

  /** Moves the time while something else is waited for. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    await this.until(() => isOver);
    return over;
  }

  async #untilMoved(holds: () => boolean, ms: number): Promise<void> {
    for (const end = performance.now() + ms; !holds(); ) {
      if (performance.now() > end) {
        const sent = JSON.stringify(this.sent.slice(-6).map(({ chat, text }) => [chat, text]));
        throw new Error(`the fake waited too long; sent: ${sent}`);
      }
      this.#step ??= this.#move();
      await this.#step;
    }
  }

  /** One step for all who wait: with a step for each, the time would run away from the requests on their way. */
  async #move(): Promise<void> {
    const { clock, stepMs = STEP_MS } = this.#options;
    if (clock) await passTime(clock, stepMs);
    this.#step = undefined;
  }

  #changed(): void {
    for (const watch of this.#watchers.splice(0)) watch();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const url = request.url ?? "";
    const file = /^\/file\/bot[^/]+\/(.+)$/u.exec(url)?.[1];
    if (file !== undefined) {
      const content = this.files.get(file);
      response.writeHead(content ? 200 : 404).end(content);
      return;
    }
    const [, token, method = ""] = /^\/bot([^/]+)\/(\w+)$/u.exec(url) ?? [];
    if (token !== this.token) return answer(response, 401, { description: "Unauthorized" });
    const args = argsOf(request, body);
    this.calls.push({ method, args, at: Date.now() });
    if (this.#options.without?.includes(method))
      return answer(response, 404, { description: "Not Found: method not found" });
    const fault = this.#faults.get(method)?.shift();
    if (fault && "answer" in fault) {
      const { code, description, parameters } = fault.answer;
      answer(response, code, { description, parameters });
      return this.#changed();
    }
    if (fault && "garbage" in fault) {
      response.writeHead(200, { "content-type": "text/html" }).end("<html>bad gateway</html>");
      return this.#changed();
    }
    if (fault && ("cut" in fault ? fault.cut : fault.hang) === "before") return this.#lose(fault, request);
    if (method === "getUpdates") return this.#getUpdates(args, request, response);
    const result = this.#carryOut(method, args);
    if (fault) this.#lose(fault, request);
    else if ("error" in result) answer(response, 400, { description: `Bad Request: ${result.error}` });
    else answer(response, 200, { result: result.ok });
    this.#changed();
  }

  /** The connection is cut, or no answer ever comes. */
  #lose(fault: Fault, request: IncomingMessage): void {
    if ("cut" in fault) request.socket.destroy();
    this.#changed();
  }

  #getUpdates(args: Json, request: IncomingMessage, response: ServerResponse): void {
    if (this.#poll) {
      this.conflicts += 1;
      this.#poll.end("conflict");
    }
    if (this.webhook) {
      const description = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook first";
      answer(response, 409, { description });
      this.#changed();
      return;
    }
    const { offset } = args as { offset?: number };
    if (offset !== undefined) {
      this.#updates = this.#updates.filter((one) => !Number.isSafeInteger(one?.update_id) || one.update_id >= offset);
      this.offsets.push(offset);
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = {
      end: (updates: readonly unknown[] | "conflict") => {
        clearTimeout(timer);
        if (this.#poll === poll) this.#poll = undefined;
        if (updates === "conflict")
          answer(response, 409, { description: "Conflict: terminated by other getUpdates request" });
        else answer(response, 200, { result: updates });
        this.#changed();
      },
    };
    this.#poll = poll;
    request.socket.once("close", () => {
      clearTimeout(timer);
      if (this.#poll === poll) this.#poll = undefined;
    });
    const wait = Number(args.timeout ?? 0) * 1_000;
    if (this.#updates.length > 0 || wait === 0) poll.end(this.#updates.slice(0, Number(args.limit ?? 100)));
    else timer = setTimeout(() => poll.end([]), wait);
    this.#changed();
  }

  #answerPoll(): void {
    if (this.webhook && this.#updates.length > 0) this.#bringing ??= this.#bring();
    this.#poll?.end(this.#updates.slice(0, 100));
  }

  /** Brings the first update that waits until it is taken, then the next. The real server brings those of other chats beside it. */
  async #bring(): Promise<void> {
    for (let failures = 0; this.webhook && !this.#closed && this.#updates.length > 0; ) {
      const [update] = this.#updates;
      const { url, secret } = this.webhook;
      const status = await this.bringOnce(update, secret, url);
      this.brought.push({ update: update?.update_id ?? 0, status });
      if (status >= 200 && status < 300) this.#updates = this.#updates.filter((one) => one !== update);
      else {
        this.#lastError = { at: this.now() + ++failures, text: `Wrong response from the webhook: ${status}` };
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      this.#changed();
    }
    this.#bringing = undefined;
  }

  /** One request with one update; the status of the answer, 0 if there was none. */
  async bringOnce(update: unknown, secret: string | undefined, url = this.webhook?.url ?? ""): Promise<number> {
    const headers = {
      "content-type": "application/json",
      ...(secret && { "x-telegram-bot-api-secret-token": secret }),
    };
    const body = typeof update === "string" ? update : JSON.stringify(update);
    try {
      const answered = await fetch(this.#options.reach?.(url) ?? url, { method: "POST", headers, body });
      await answered.text();
      return answered.status;
    } catch {
      return 0;
    }
  }

  #carryOut(method: string, args: Json): { ok: unknown } | { error: string } {
    switch (method) {
      case "getMe":
        return { ok: { id: this.botId, is_bot: true, first_name: "Rook", username: this.username } };
      case "deleteWebhook":
        this.webhook = undefined;
        return { ok: true };
      case "setWebhook":
        if (!/^https:/u.test(String(args.url)))
          return { error: "bad webhook: An HTTPS URL must be provided for webhook" };
        this.webhooks.push(args);
        this.webhook = { url: String(args.url), secret: String(args.secret_token) };
        this.#answerPoll();
        return { ok: true };
      case "getWebhookInfo":
        return {
          ok: {
            url: this.webhook?.url ?? "",
            has_custom_certificate: false,
            pending_update_count: this.#updates.length,
            last_error_date: this.#lastError?.at,
            last_error_message: this.#lastError?.text,
          },
        };
      case "setMyCommands":
        this.commands = args.commands as readonly unknown[];
        return { ok: true };
      case "sendChatAction":
        return { ok: true };
      case "setMessageReaction":
        this.reactions.push(args);
        return { ok: true };
      case "answerCallbackQuery":
        this.answered.push(args);
        return { ok: true };
      case "sendMessageDraft":
        this.drafts.push(args);
        return { ok: true };
      case "getFile":
        return this.files.has(String(args.file_id))
          ? { ok: { file_id: args.file_id, file_unique_id: "u", file_path: String(args.file_id) } }
          : { error: "file not found" };
      case "editMessageReplyMarkup":
        return { ok: true };
      case "deleteMessage":
        return this.#change(args, (message) => {
          message.deleted = true;
          return undefined;
        });
      case "editMessageText":
        return this.#edit(args);
      default:
        return MESSAGE_METHODS.has(method) ? this.#send(method, args) : { error: `unknown method ${method}` };
    }
  }

  #send(method: string, args: Json): { ok: unknown } | { error: string } {
    const shown = shownText(method, args);
    if ("error" in shown) return shown;
    if (args.message_thread_id === GONE_THREAD) return { error: "message thread not found" };
    const chat = String(args.chat_id);
    this.#countRate(chat);
    const id = this.#nextMessage++;
    const thread = args.message_thread_id as number | undefined;
    this.sent.push({ id, method, chat, thread, text: shown.text, args, at: Date.now(), edits: [] });
    return { ok: { message_id: id, date: this.now(), chat: { id: Number(chat), type: "private" }, text: shown.text } };
  }

  #edit(args: Json): { ok: unknown } | { error: string } {
    const shown = shownText("sendMessage", args);
    if ("error" in shown) return shown;
    this.#countRate(String(args.chat_id));
    return this.#change(args, (message) => {
      if (message.text === shown.text) return "message is not modified";
      message.edits.push(shown.text);
      message.text = shown.text;
      return undefined;
    });
  }

  #change(args: Json, change: (message: SentMessage) => string | undefined): { ok: unknown } | { error: string } {
    const message = this.sent.find(
      ({ id, chat, deleted }) => id === args.message_id && chat === String(args.chat_id) && !deleted,
    );
    if (!message) return { error: "message to edit not found" };
    const error = change(message);
    return typeof error === "string" ? { error } : { ok: true };
  }

  /** One message a second in a chat, twenty a minute in a group, thirty in all, each with a small tolerance for the network. */
  #countRate(chat: string): void {
    const now = this.#options.clock?.monotonic() ?? performance.now();
    const last = this.#lastInChat.get(chat);
    if (last !== undefined && now - last < 950) this.breaches.push(`chat ${chat}: ${Math.round(now - last)} ms`);
    this.#lastInChat.set(chat, now);
    if (chat.startsWith("-")) {
      const ofMinute = [...(this.#inGroup.get(chat) ?? []).filter((at) => now - at < 59_500), now];
      this.#inGroup.set(chat, ofMinute);
      if (ofMinute.length > 20) this.breaches.push(`group ${chat}: ${ofMinute.length} in a minute`);
    }
    this.#times.push(now);
    while ((this.#times[0] ?? now) < now - 1_000) this.#times.shift();
    if (this.#times.length > 30) this.breaches.push(`all: ${this.#times.length} in a second`);
  }
}

export const person = (id: number): Json => ({ id, is_bot: false, first_name: `Person ${id}` });
export const privateChat = (id: number): Json => ({ id, type: "private", first_name: `Person ${id}` });

function mentionsIn(text: string): Json[] {
  const found = [...text.matchAll(/(?<=^|\s)(\/\w+@\w+|@\w+)/gu)];
  return found.map((one) => ({
    type: one[0].startsWith("/") ? "bot_command" : "mention",
    offset: one.index,
    length: one[0].length,
  }));
}

function argsOf(request: IncomingMessage, body: Buffer): Json {
  const type = request.headers["content-type"] ?? "";
  if (type.includes("json")) return JSON.parse(body.toString("utf8") || "{}") as Json;
  if (!type.includes("multipart")) return {};
  const fields: Json = { multipart: body.length };
  const text = body.toString("latin1");
  for (const [, name = "", value = ""] of text.matchAll(/name="(\w+)"\r\n\r\n([^\r]*)\r\n/gu))
    fields[name] = Buffer.from(value, "latin1").toString("utf8");
  return fields;
}

function answer(response: ServerResponse, code: number, more: Json): void {
  const body = code === 200 ? { ok: true, ...more } : { ok: false, error_code: code, ...more };
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const TAGS = /<(\/?)([a-z-]+)((?:\s[^<>]*)?)>/gu;
const KNOWN = new Set(["b", "i", "u", "s", "code", "pre", "a", "blockquote", "tg-spoiler"]);

/** What a person sees of a message; an error if the server would not read its markup. */
function shownText(method: string, args: Json): { text: string } | { error: string } {
  if (method === "sendRichMessage") return { text: richText((args.rich_message as Json)?.blocks) };
  const raw = String(args.text ?? args.caption ?? "");
  if (method === "sendMessage" && raw.trim() === "") return { error: "message text is empty" };
  let text = raw;
  if (args.parse_mode === "HTML") {
    const open: string[] = [];
    for (const [, slash, tag = ""] of raw.matchAll(TAGS)) {
      if (!KNOWN.has(tag)) return { error: `can't parse entities: unsupported start tag "${tag}"` };
      if (slash === "") open.push(tag);
      else if (open.pop() !== tag) return { error: "can't parse entities: unmatched end tag" };
    }
    if (open.length > 0) return { error: "can't parse entities: can't find end tag" };
    text = raw
      .replaceAll(TAGS, "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&amp;", "&");
  }
  return text.length > 4_096 ? { error: "message is too long" } : { text };
}

function richText(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(richText).join("");
  if (typeof value !== "object" || value === null) return "";
  const { text, blocks, items, cells } = value as Json;
  return [text, blocks, items, cells].map(richText).join("");
}

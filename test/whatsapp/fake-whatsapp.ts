/**
 * A server for tests that speaks the Graph API of WhatsApp over real HTTP, and brings signed webhooks until they are answered with success.
 * It knows the 24 hours of each chat, gives addresses of files that expire, and has faults that a test asks for. It shares no code with the
 * connector.
 */
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { passTime } from "../kit/pass-time.ts";
import type { Json } from "./json.ts";
import { type Shown, shownOf, type Uploaded, uploadedIn } from "./shown-message.ts";

export type { Json };

export interface SentMessage extends Shown {
  readonly id: string;
  /** The number that sent it. */
  readonly number: string;
  readonly to: string;
  readonly type: string;
  readonly delivery?: string;
  readonly body: Json;
}

/** What happens to one call. `cut` or `hang` after: it is carried out, and the answer is lost. */
export type Fault =
  | { readonly answer: { readonly status: number; readonly code?: number; readonly message?: string } }
  | { readonly cut: "before" | "after" }
  | { readonly hang: "before" | "after" }
  | { readonly garbage: true };

export type Method = "number" | "message" | "mark" | "upload" | "media" | "download";

export interface FakeOptions {
  /** Brings one webhook; the status of the answer. Absent: nothing is brought by itself. */
  readonly bring?: (request: { readonly body: string; readonly headers: Record<string, string> }) => Promise<number>;
  /** Whether statuses follow each message. */
  readonly statuses?: boolean;
  /** Virtual time: it moves while the test waits for the fake. */
  readonly clock?: { now(): number; advance(ms: number, settle?: () => Promise<void>): Promise<void> };
  /** How far virtual time moves at once. */
  readonly stepMs?: number;
}

const STEP_MS = 25;
const DAY_S = 24 * 3600;
const WINDOW = { status: 400, code: 131_047, message: "Re-engagement message" };

export class FakeWhatsapp {
  readonly token = "fake-graph-token";
  readonly appSecret = "fake-app-secret";
  readonly verifyToken = "fake-verify-token";
  readonly number = "1055500";
  readonly displayed = "+1 555-000-1111";
  readonly sent: SentMessage[] = [];
  readonly marks: Json[] = [];
  readonly calls: { readonly method: Method; readonly body: Json }[] = [];
  readonly brought: number[] = [];
  readonly uploads = new Map<string, Uploaded>();
  readonly media = new Map<string, { readonly data: Buffer; readonly mime: string }>();
  /** How many addresses of files are dead on arrival. */
  expired = 0;
  /** Whether the closed 24 hours are told by a refusal or by a status that comes later. */
  windowBy: "answer" | "status" = "answer";
  /** The people in this set have written within 24 hours. Absent: everyone has. */
  openChats: Set<string> | undefined;
  /** How often the same webhook is brought though it was answered. */
  repeats = 0;
  readonly #options: FakeOptions;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #sockets = new Set<Socket>();
  readonly #faults = new Map<Method, Fault[]>();
  readonly #urls = new Map<string, string>();
  #watchers: (() => void)[] = [];
  #waiting: Json[] = [];
  #bringing: Promise<void> | undefined;
  #ids = 0;
  #closed = false;

  constructor(options: FakeOptions = {}) {
    this.#options = options;
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v25.0`;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
    await this.#bringing;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  fail(method: Method, ...faults: readonly Fault[]): void {
    this.#faults.set(method, [...(this.#faults.get(method) ?? []), ...faults]);
  }

  /** Faults that no call has met yet. */
  faultsOf(method: Method): number {
    return this.#faults.get(method)?.length ?? 0;
  }

  takeId(): string {
    return `wamid.${Buffer.from(`message-${++this.#ids}`).toString("base64")}`;
  }

  now(): number {
    return Math.floor((this.#options.clock?.now() ?? Date.now()) / 1_000);
  }

  /** A person writes. Returns the id of the message. */
  say(from: string, text: string, more: Json = {}): string {
    const id = this.takeId();
    this.pushMessage({ from, id, timestamp: String(this.now()), type: "text", text: { body: text }, ...more });
    return id;
  }

  edit(from: string, original: string, text: string): void {
    const message = { type: "text", text: { body: text } };
    const edit = { original_message_id: original, message };
    this.pushMessage({ from, id: this.takeId(), timestamp: String(this.now()), type: "edit", edit });
  }

  press(from: string, id: string, kind: "button_reply" | "list_reply" = "button_reply"): void {
    const interactive = { type: kind, [kind]: { id, title: "chosen" } };
    this.pushMessage({ from, id: this.takeId(), timestamp: String(this.now()), type: "interactive", interactive });
  }

  pushMessage(message: Json, number = this.number): void {
    if (typeof message.from === "string") this.openChats?.add(message.from);
    const contacts = [{ profile: { name: `Person ${message.from}` }, wa_id: message.from }];
    this.pushValue({ contacts, messages: [message] }, number);
  }

  pushValue(value: Json, number = this.number): void {
    this.push({ field: "messages", value: { ...this.#metadata(number), ...value } });
  }

  /** Adds a change, which is brought until it is taken. */
  push(change: unknown): void {
    this.pushBody({ object: "whatsapp_business_account", entry: [{ id: "1", changes: [change] }] });
  }

  pushBody(body: unknown): void {
    this.#waiting.push(body as Json);
    if (this.#options.bring) this.#bringing ??= this.#bringAll();
  }

  #metadata(number: string): Json {
    return {
      messaging_product: "whatsapp",
      metadata: { display_phone_number: this.displayed.replaceAll(/\D/gu, ""), phone_number_id: number },
    };
  }

  /** Webhooks that were not answered with success. */
  get pending(): number {
    return this.#waiting.length;
  }

  signed(body: string): Record<string, string> {
    const signature = createHmac("sha256", this.appSecret).update(body).digest("hex");
    return { "content-type": "application/json", "x-hub-signature-256": `sha256=${signature}` };
  }

  textsTo(person: string): readonly string[] {
    return this.sent.filter(({ to, type }) => to === person && type !== "reaction").map(({ text }) => text);
  }

  async #bringAll(): Promise<void> {
    while (!this.#closed && this.#waiting.length > 0) {
      const [change] = this.#waiting;
      const body = JSON.stringify(change);
      const status = (await this.#options.bring?.({ body, headers: this.signed(body) }).catch(() => 0)) ?? 0;
      this.brought.push(status);
      if (status >= 200 && status < 300) {
        if (this.repeats > 0) this.repeats -= 1;
        else this.#waiting = this.#waiting.filter((one) => one !== change);
      } else await new Promise((resolve) => setTimeout(resolve, 20));
      this.#changed();
    }
    this.#bringing = undefined;
  }

  /** Resolves when the condition holds, checked after every call. */
  async until(holds: () => boolean, ms = 60_000): Promise<void> {
    for (const end = performance.now() + ms; !holds(); ) {
      if (performance.now() > end) {
        const sent = JSON.stringify(this.sent.slice(-6).map(({ to, text }) => [to, text]));
        throw new Error(`the fake waited too long; sent: ${sent}`);
      }
      const { clock, stepMs = STEP_MS } = this.#options;
      if (clock) await passTime(clock, stepMs);
      else await this.#nextChange();
    }
  }

  /** Something has happened, or a moment has passed. */
  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 50);
      this.#watchers.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Moves the time while something else is waited for. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    await this.until(() => isOver);
    return over;
  }

  #changed(): void {
    for (const watch of this.#watchers.splice(0)) watch();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const path = (request.url ?? "").replace(/^\/v25\.0\//u, "");
    if (request.headers.authorization !== `Bearer ${this.token}`) {
      return answer(response, 401, errorOf(190, "Invalid OAuth access token"));
    }
    const isJson = (request.headers["content-type"] ?? "").includes("json");
    const body = isJson ? (JSON.parse(raw.toString("utf8")) as Json) : {};
    const method = methodOf(request.method ?? "", path, body);
    this.calls.push({ method, body });
    const fault = this.#faults.get(method)?.shift();
    if (fault && "answer" in fault) {
      const { status, code = status, message = "refused" } = fault.answer;
      answer(response, status, errorOf(code, message));
    } else if (fault && "garbage" in fault) {
      response.writeHead(200, { "content-type": "text/html" }).end("<html>a gateway</html>");
    } else if (fault && ("cut" in fault ? fault.cut : fault.hang) === "before") {
      if ("cut" in fault) request.socket.destroy();
    } else if (method === "download") this.#download(path, response);
    else {
      const [status, result] = this.#carryOut(method, path, body, raw, request.headers["content-type"] ?? "");
      if (fault && "cut" in fault) request.socket.destroy();
      else if (!fault) answer(response, status, result);
    }
    this.#changed();
  }

  #carryOut(method: Method, path: string, body: Json, raw: Buffer, type: string): [status: number, result: Json] {
    switch (method) {
      case "number":
        return [200, { id: this.number, display_phone_number: this.displayed, verified_name: "Rook" }];
      case "mark":
        this.marks.push(body);
        return [200, { success: true }];
      case "upload": {
        const id = `media-${++this.#ids}`;
        const file = uploadedIn(raw, type);
        if (typeof file === "string") return [400, errorOf(100, file)];
        this.uploads.set(id, file);
        return [200, { id }];
      }
      case "media": {
        const id = decodeURIComponent(path.split("?")[0] ?? "");
        const found = this.media.get(id);
        if (!found) return [404, errorOf(100, "Media is not available")];
        const key = `${++this.#ids}`;
        if (this.expired > 0) this.expired -= 1;
        else this.#urls.set(key, id);
        return [200, { url: `${this.url}/files/${key}`, mime_type: found.mime, file_size: found.data.length, id }];
      }
      default:
        return this.#message(path.split("/")[0] ?? "", body);
    }
  }

  #message(number: string, body: Json): [status: number, result: Json] {
    const to = String(body.to ?? body.recipient ?? "");
    const type = String(body.type);
    const shown = shownOf(type, body, this.uploads);
    if (typeof shown === "string") return [400, errorOf(100, shown)];
    const id = this.takeId();
    const delivery = body.biz_opaque_callback_data as string | undefined;
    const isClosed = this.openChats !== undefined && !this.openChats.has(to) && type !== "template";
    if (isClosed && this.windowBy === "answer") return [WINDOW.status, errorOf(WINDOW.code, WINDOW.message)];
    if (isClosed) {
      this.status(id, to, "failed", delivery, number, [{ code: WINDOW.code, title: WINDOW.message }]);
    } else {
      this.sent.push({ id, number, to, type, ...shown, delivery, body });
      if (this.#options.statuses) for (const now of ["sent", "delivered"]) this.status(id, to, now, delivery, number);
    }
    return [200, { messaging_product: "whatsapp", contacts: [{ input: to, wa_id: to }], messages: [{ id }] }];
  }

  /** A status of a message of the business. */
  status(id: string, to: string, status: string, delivery?: string, number = this.number, errors?: unknown): void {
    const timestamp = String(this.now());
    const one = { id, status, timestamp, recipient_id: to, biz_opaque_callback_data: delivery, errors };
    this.pushValue({ statuses: [one] }, number);
  }

  #download(path: string, response: ServerResponse): void {
    const key = path.split("/")[1] ?? "";
    const found = this.media.get(this.#urls.get(key) ?? "");
    // An address works once.
    this.#urls.delete(key);
    response.writeHead(found ? 200 : 404).end(found?.data);
  }
}

export const DAY_SECONDS = DAY_S;

function methodOf(verb: string, path: string, body: Json): Method {
  if (path.startsWith("files/")) return "download";
  if (verb === "GET") return path.includes("fields=") ? "number" : "media";
  if (path.endsWith("/media")) return "upload";
  return body.status === "read" ? "mark" : "message";
}

const errorOf = (code: number, message: string): Json => ({
  error: { message: `(#${code}) ${message}`, type: "OAuthException", code, fbtrace_id: "x" },
});

function answer(response: ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

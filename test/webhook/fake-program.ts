/**
 * A program for tests that is a channel: it brings signed messages until they are taken, and gets answers over HTTP, whose signatures it
 * checks and whose ids it keeps. It shares no code with the connector.
 */
import { createHmac, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { passTime } from "../kit/pass-time.ts";

export type Json = Record<string, unknown>;

export interface ProgramOptions {
  readonly bring?: (request: { readonly body: string; readonly headers: Record<string, string> }) => Promise<number>;
  readonly clock?: { now(): number; advance(ms: number, settle?: () => Promise<void>): Promise<void> };
}

const STEP_MS = 25;

export type ProgramFault = "cut-before" | "cut-after" | number;

export class FakeProgram {
  readonly secret = "a-secret-of-both-sides";
  /** What people see, by the id of the delivery. */
  readonly shown = new Map<string, Json>();
  readonly wrong: string[] = [];
  readonly faults: ProgramFault[] = [];
  requests = 0;
  readonly #options: ProgramOptions;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #waiting: Json[] = [];
  #bringing: Promise<void> | undefined;
  #closed = false;
  #ids = 0;

  constructor(options: ProgramOptions = {}) {
    this.#options = options;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/answers`;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#server.closeAllConnections();
    await this.#bringing;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  now(): number {
    return this.#options.clock?.now() ?? Date.now();
  }

  /** A person writes. Returns the id of the message. */
  say(from: string, text: string, more: Json = {}): string {
    const id = `m${++this.#ids}`;
    this.push({ id, from, text, ...more });
    return id;
  }

  push(message: unknown): void {
    this.#waiting.push(message as Json);
    if (this.#options.bring) this.#bringing ??= this.#bringAll();
  }

  get pending(): number {
    return this.#waiting.length;
  }

  textsTo(person: string): readonly unknown[] {
    return [...this.shown.values()].filter(({ to }) => to === person).map(({ text }) => text);
  }

  signed(body: string, at = Math.floor(this.now() / 1_000)): Record<string, string> {
    const signature = createHmac("sha256", this.secret).update(`${at}.${body}`).digest("hex");
    return {
      "content-type": "application/json",
      "x-rookery-timestamp": String(at),
      "x-rookery-signature": `v1=${signature}`,
    };
  }

  async #bringAll(): Promise<void> {
    while (!this.#closed && this.#waiting.length > 0) {
      const [message] = this.#waiting;
      const body = typeof message === "string" ? message : JSON.stringify(message);
      const status = (await this.#options.bring?.({ body, headers: this.signed(body) }).catch(() => 0)) ?? 0;
      // What is refused for good is not brought again.
      if (status === 400 || (status >= 200 && status < 300))
        this.#waiting = this.#waiting.filter((one) => one !== message);
      else await new Promise((resolve) => setTimeout(resolve, 10));
    }
    this.#bringing = undefined;
  }

  async until(holds: () => boolean, ms = 60_000): Promise<void> {
    for (const end = performance.now() + ms; !holds(); ) {
      if (performance.now() > end) {
        throw new Error(`the program waited too long; shown: ${JSON.stringify([...this.shown.values()].slice(-5))}`);
      }
      const { clock } = this.#options;
      if (clock) await passTime(clock, STEP_MS);
      else await new Promise((resolve) => setTimeout(resolve, 10));
    }
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

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    this.requests += 1;
    const fault = this.faults.shift();
    if (fault === "cut-before") return void request.socket.destroy();
    if (typeof fault === "number") return void response.writeHead(fault).end();
    const { "x-rookery-timestamp": at, "x-rookery-signature": signature } = request.headers;
    const right = createHmac("sha256", this.secret).update(`${at}.${body}`).digest("hex");
    if (signature !== `v1=${right}`) {
      this.wrong.push(body);
      return void response.writeHead(401).end();
    }
    const answer = JSON.parse(body) as Json;
    // An id that was seen is the same answer.
    this.shown.set(String(answer.id ?? randomUUID()), answer);
    if (fault === "cut-after") request.socket.destroy();
    else response.writeHead(204).end();
  }
}

/** A serving engine with a virtual clock and a scripted model, for the table of the configuration's keys. Each row reloads its configuration. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { expect } from "vitest";
import type { ReloadReport } from "../../src/app/gateway/routing/gateway-context.ts";
import { type Serving, serve } from "../../src/app/library/serve.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { homePaths } from "../../src/config/paths.ts";
import type { Connector, ConnectorHost, OutgoingDelivery } from "../../src/core/ports/connector.ts";
import type { Model, ModelRequest } from "../../src/core/ports/model.ts";
import { virtualClock } from "../kit/clock.ts";
import { modelResult, type Reply } from "../kit/model.ts";
import { TOKEN } from "./serving.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

type Json = Record<string, unknown>;
export interface Answer {
  readonly status: number;
  readonly json: Json;
  readonly text: string;
}
interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  /** `null`: none. Default: that of the owner. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}
type Incoming = Parameters<ConnectorHost["accept"]>[0];
type Script = (request: ModelRequest, signal: AbortSignal) => Reply | Promise<Reply>;

/** Everyone who writes is let in, and every message gets a run of its own at once. */
const BASE = { people: { unknown: "guest" }, queue: { mode: "queue", debounceMs: 0 } };
const ENV = { ROOKERY_TOKEN: TOKEN, S: "secret-one", T: "secret-two" };

const said = (request: ModelRequest): string => {
  const last = request.messages.findLast(({ role }) => role === "user");
  return last?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
};
const echo: Script = (request) => `echo: ${said(request)}`;

export class Desk {
  readonly clock = virtualClock();
  readonly home = mkdtempSync(join(tmpdir(), "rookery-keys-"));
  readonly requests: ModelRequest[] = [];
  readonly sent: OutgoingDelivery[] = [];
  readonly sending: { busy: boolean } = { busy: false };
  script: Script = echo;
  chat!: ConnectorHost;
  #serving!: Serving;
  #ids = 0;

  /** `ownModel`: the engine calls the providers of its configuration. */
  static async open(base: object = {}, ownModel = false): Promise<Desk> {
    const desk = new Desk();
    const text = JSON.stringify({ ...BASE, ...base });
    writeFileSync(join(desk.home, "rookery.json5"), text);
    const { config } = parseConfig({ text, file: "rookery.json5", env: ENV });
    desk.#serving = await serve({
      ...{ paths: homePaths(desk.home), config, env: ENV, port: 0, clock: desk.clock, connectors: [desk.#channel()] },
      model: ownModel ? undefined : desk.#model(),
      onFatal: (error) => expect.unreachable(String(error)),
    });
    return desk;
  }

  #model(): Model {
    return {
      call: async (request, signal) => {
        this.requests.push(request);
        return modelResult(await this.script(request, signal));
      },
    };
  }

  #channel(): Connector {
    return {
      name: "chat",
      sendingClass: "idempotent",
      capabilities: { sendText: true },
      start: async (host) => {
        this.chat = host;
      },
      stop: async () => {},
      health: () => ({ ok: true, detail: "" }),
      send: async (delivery) => {
        if (this.sending.busy) return { status: "retry", reason: "busy" };
        this.sent.push(delivery);
        return { status: "sent" };
      },
    };
  }

  /** Before each row. */
  async reset(): Promise<void> {
    this.script = echo;
    this.sending.busy = false;
    await this.reload();
  }

  /** The configuration of the row, in the running engine. */
  async reload(config: object = {}): Promise<void> {
    expect((await this.reloadReport(config)).needsRestart).toEqual([]);
  }

  async reloadReport(config: object): Promise<ReloadReport> {
    writeFileSync(join(this.home, "rookery.json5"), JSON.stringify({ ...BASE, ...config }));
    return this.#serving.reload();
  }

  async ask(path: string, { method, body, token = TOKEN, headers }: Asked = {}): Promise<Answer> {
    const isText = typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(`${this.#serving.gateway.url}${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        "content-type": "application/json",
        ...headers,
      },
      body: isText ? (body as string) : body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    return { status: response.status, text, json: isJson && text !== "" ? (JSON.parse(text) as Json) : {} };
  }

  /** A request to the OpenAI API, which waits for the answer. */
  async api(text: string, user = "ann", more: object = {}): Promise<Answer & { readonly answer: string }> {
    const body = { model: "main", user, messages: [{ role: "user", content: text }], ...more };
    const answer = await this.ask("/v1/chat/completions", { body });
    const [choice] = (answer.json.choices ?? []) as { message: { content: string } }[];
    return { ...answer, answer: choice?.message.content ?? "" };
  }

  /** A person writes on the channel `chat`. */
  write(text: string, userId: string, more: Partial<Incoming> = {}): ReturnType<ConnectorHost["accept"]> {
    const to = { channelId: userId, messageId: `m${++this.#ids}`, delivery: { channel: "chat", to: userId } };
    return this.chat.accept({ connector: "chat", userId, text, ...to, ...more });
  }

  /** The texts that someone on the channel got. */
  textsTo(userId: string): readonly string[] {
    return this.sent.filter(({ target }) => target.to === userId).map(({ payload }) => payload.text ?? "");
  }

  /** The requests to the model that have this in them. */
  heard(text: string): readonly ModelRequest[] {
    return this.requests.filter((request) => JSON.stringify(request.messages).includes(text));
  }

  /** Waits until it holds, in real time; the virtual time stands still. */
  async until(holds: () => boolean | Promise<boolean>, what = holds.toString()): Promise<void> {
    for (let tries = 0; tries < 2_000; tries++) {
      if (await holds()) return;
      await pause(2);
    }
    expect.unreachable(`did not happen: ${what}`);
  }

  /** Lets everything under way come to rest, without moving the time. */
  async rest(): Promise<void> {
    for (let turns = 0; turns < 12; turns++) {
      await turn();
      await pause(1);
    }
  }

  /** Moves the time; each timer that is due is called. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms, async () => {
      await turn();
      await turn();
    });
    await this.rest();
  }

  /** Like `until`, but the time moves in these steps. */
  async passUntil(stepMs: number, holds: () => boolean | Promise<boolean>): Promise<void> {
    for (let steps = 0; steps < 400; steps++) {
      if (await holds()) return;
      await this.clock.advance(stepMs, () => turn());
      await pause(1);
    }
    expect.unreachable(`did not happen: ${holds.toString()}`);
  }

  async close(): Promise<void> {
    const closing = this.#serving.close();
    let isClosed = false;
    void closing.finally(() => {
      isClosed = true;
    });
    while (!isClosed) await this.pass(100);
    await closing;
    rmSync(this.home, { recursive: true, force: true });
  }
}

/**
 * Requests to an engine that may restart in between. Each change carries a key, so a request whose answer was lost is sent
 * again and changes nothing twice.
 */
import { ApiError, type ApiRequest, askApi, askBytes, ConnectionLostError } from "./api.ts";
import { readEvents, type ServerEvent, type StreamOptions } from "./event-stream.ts";
import type { Transport } from "./transport.ts";

type QueryValue = string | number | boolean | undefined;

interface ChangeOptions {
  /** The same id again is the same request: it is carried out once. */
  readonly id?: string;
  readonly signal?: AbortSignal;
}

/** Whether a failed request is sent again, after the wait that this promise is. `tries`: how often it was sent. */
type Again = (error: unknown, tries: number) => Promise<boolean>;

const MAX_TRIES = 8;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

export class EngineApi {
  readonly #transport: Transport;
  readonly #closed: AbortSignal | undefined;
  readonly #again: Again;

  /** `closed`: aborted when the client is closed. Then nothing is tried again. `again`: how often, or by what rule. */
  constructor(transport: Transport, closed?: AbortSignal, again: number | Again = MAX_TRIES) {
    this.#transport = transport;
    this.#closed = closed;
    this.#again = typeof again === "number" ? withPauses(again) : again;
  }

  /** Any request; the JSON of the answer. What the route changes is durable when this resolves. */
  request({ method, path, body }: Pick<ApiRequest, "method" | "path" | "body">): Promise<unknown> {
    return this.#send(method, path, body as object | undefined, { id: method === "POST" ? newKey() : undefined });
  }

  /** The JSON of the answer. Changes nothing. */
  get<T>(path: string, query: Readonly<Record<string, QueryValue>> = {}, signal?: AbortSignal): Promise<T> {
    return this.#send<T>("GET", path + queryOf(query), undefined, { signal });
  }

  /** What the route changes is durable when this resolves. */
  post<T>(path: string, body?: object, options: ChangeOptions = {}): Promise<T> {
    return this.#send<T>("POST", path, body, { ...options, id: options.id ?? newKey() });
  }

  patch<T>(path: string, body: object): Promise<T> {
    return this.#send<T>("PATCH", path, body, {});
  }

  delete<T>(path: string, query: Readonly<Record<string, QueryValue>> = {}): Promise<T> {
    return this.#send<T>("DELETE", path + queryOf(query), undefined, {});
  }

  /** Stores bytes. The same bytes again change nothing, so it needs no key. */
  upload<T>(
    path: string,
    bytes: Uint8Array<ArrayBuffer>,
    query: Readonly<Record<string, QueryValue>>,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#repeat(signal, async (until) => {
      const request = { method: "POST", path: path + queryOf(query), bytes } as const;
      return (await askApi(this.#transport, request, until)).json as T;
    });
  }

  bytes(path: string, query: Readonly<Record<string, QueryValue>> = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#repeat(undefined, (until) => askBytes(this.#transport, path + queryOf(query), until));
  }

  events(path: string, options?: StreamOptions): AsyncGenerator<ServerEvent> {
    return readEvents(this.#transport, path, { ...options, signal: this.#until(options?.signal) });
  }

  #until(signal: AbortSignal | undefined): AbortSignal | undefined {
    return signal && this.#closed ? AbortSignal.any([signal, this.#closed]) : (signal ?? this.#closed);
  }

  #send<T>(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body: object | undefined,
    { id, signal }: ChangeOptions,
  ): Promise<T> {
    const ask = async (until: AbortSignal | undefined): Promise<T> =>
      (await askApi(this.#transport, { method, path, body, key: id }, until)).json as T;
    // A removal whose answer was lost would find nothing the second time.
    return method === "DELETE" ? ask(this.#until(signal)) : this.#repeat(signal, ask);
  }

  async #repeat<T>(given: AbortSignal | undefined, ask: (until: AbortSignal | undefined) => Promise<T>): Promise<T> {
    const signal = this.#until(given);
    for (let tries = 1; ; tries++) {
      try {
        return await ask(signal);
      } catch (error) {
        if (signal?.aborted || !(await this.#again(error, tries))) throw error;
      }
    }
  }
}

const withPauses =
  (maxTries: number): Again =>
  async (error, tries) => {
    if (tries >= maxTries || !mayRepeat(error)) return false;
    await new Promise((resolve) => setTimeout(resolve, Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), MAX_PAUSE_MS)));
    return true;
  };

const mayRepeat = (error: unknown): boolean =>
  error instanceof ConnectionLostError || (error instanceof ApiError && error.code === "restarting");

/** Each part of a path, encoded. */
export const pathOf = (...parts: readonly (string | number)[]): string =>
  parts.map((part) => `/${encodeURIComponent(part)}`).join("");

function queryOf(query: Readonly<Record<string, QueryValue>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length === 0
    ? ""
    : `?${new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)])))}`;
}

/** A page that is not served over TLS has no `randomUUID`. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

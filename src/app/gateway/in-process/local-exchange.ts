/**
 * A request and its response inside one process, in the form that the request listener serves: no socket, no parser, the same
 * checks. As with a socket, a small part of the response is held for a reader that is slow.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable, Writable } from "node:stream";
import { lostConnection } from "../../client/api.ts";

interface LocalRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** With lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: AsyncIterable<Uint8Array>;
  /** The address of the client and the one it reached, if there are any. */
  readonly remoteAddress?: string;
  readonly localAddress?: string;
  readonly signal?: AbortSignal;
}

export interface LocalResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Throws if the response is cut. A reader that stops early ends the request. */
  readonly body: AsyncIterable<string | Uint8Array>;
}

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Characters and bytes of a response that no one has read yet. */
const MAX_HELD = 65_536;

/** Rejects with `ConnectionLostError` if the response is cut before it has begun, or the signal aborts. */
export function exchangeLocally(listener: Listener, request: LocalRequest): Promise<LocalResponse> {
  const incoming = new LocalIncoming(request);
  const outgoing = new LocalOutgoing();
  const { signal } = request;
  const cut = (): void => void outgoing.destroy();
  signal?.addEventListener("abort", cut, { once: true });
  outgoing.on("close", () => {
    signal?.removeEventListener("abort", cut);
    incoming.destroy();
  });
  if (signal?.aborted) cut();
  else listener(incoming as unknown as IncomingMessage, outgoing as unknown as ServerResponse);
  return outgoing.response;
}

/** The part of `IncomingMessage` that the gateway reads. */
class LocalIncoming extends Readable {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[];
  readonly socket: { readonly remoteAddress: string | undefined; readonly localAddress: string | undefined };
  /** Whether all of the body was read. */
  complete = false;
  readonly #body: AsyncIterator<Uint8Array> | undefined;

  constructor({ method, url, headers, body, remoteAddress, localAddress }: LocalRequest) {
    super();
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.rawHeaders = Object.entries(headers).flat();
    this.socket = { remoteAddress, localAddress };
    this.#body = body?.[Symbol.asyncIterator]();
  }

  override _read(): void {
    if (!this.#body) {
      this.#finish();
      return;
    }
    this.#body.next().then(
      ({ done, value }) => {
        if (done) this.#finish();
        else this.push(value);
      },
      (error) => this.destroy(error as Error),
    );
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.complete) this.#body?.return?.()?.then(undefined, () => undefined);
    done(error);
  }

  #finish(): void {
    this.complete = true;
    this.push(null);
  }
}

/** The part of `ServerResponse` that the gateway writes. */
class LocalOutgoing extends Writable {
  statusCode = 200;
  headersSent = false;
  shouldKeepAlive = true;
  readonly socket = null;
  readonly #headers: Record<string, string> = {};
  readonly #head = Promise.withResolvers<LocalResponse>();
  #pieces: (string | Uint8Array)[] = [];
  #held = 0;
  /** Continues the writer, which waits for the reader. */
  #taken: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #ended = false;

  constructor() {
    super({ decodeStrings: false });
    // A cut response is reported to its reader, not as an event.
    this.on("error", () => undefined);
    this.#head.promise.catch(() => undefined);
  }

  get response(): Promise<LocalResponse> {
    return this.#head.promise;
  }

  setHeader(name: string, value: string | number): void {
    this.#headers[name.toLowerCase()] = String(value);
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>> = {}): this {
    this.statusCode = status;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    this.flushHeaders();
    return this;
  }

  flushHeaders(): void {
    if (this.headersSent) return;
    this.headersSent = true;
    this.#head.resolve({ status: this.statusCode, headers: this.#headers, body: this.#read() });
  }

  override _write(chunk: string | Buffer, _encoding: BufferEncoding, taken: () => void): void {
    this.flushHeaders();
    this.#pieces.push(chunk);
    this.#held += chunk.length;
    this.#wake?.();
    if (this.#held <= MAX_HELD) taken();
    else this.#taken = taken;
  }

  override _final(done: () => void): void {
    this.flushHeaders();
    this.#ended = true;
    this.#wake?.();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.headersSent) this.#head.reject(lostConnection(error ?? undefined));
    this.#wake?.();
    done(error);
  }

  async *#read(): AsyncGenerator<string | Uint8Array> {
    try {
      for (;;) {
        const pieces = this.#pieces;
        if (pieces.length > 0) {
          this.#pieces = [];
          this.#held = 0;
          const taken = this.#taken;
          this.#taken = undefined;
          taken?.();
          yield* pieces;
        } else if (this.#ended) return;
        else if (this.destroyed) throw lostConnection();
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      if (!this.#ended) this.destroy();
    }
  }
}

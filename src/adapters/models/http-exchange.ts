/**
 * One HTTP request of an adaptor: sent under our user agent, watched for stalls, with the status and the end of the stream
 * kept for error messages.
 */
import { setImmediate } from "node:timers/promises";
import { TooLargeError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { HttpAnswer } from "../../core/ports/http-post.ts";
import { postThroughFetch } from "./post-through-fetch.ts";
import type { CallDeps } from "./provider-call.ts";
import { errorInBody, errorInStream, type ProviderError } from "./provider-error.ts";
import { retryAfterMs, retryDelayIn } from "./retry-after.ts";

/** Headers with which client libraries describe themselves and their host. */
const LIBRARY_HEADERS = /^(?:x-stainless-|anthropic-dangerous-direct-browser-access$|x-goog-api-client$)/;
const TAIL_CHUNKS = 8;
const SLICE_BYTES = 1_024;
/** Bytes of an error page. Only its beginning is shown. */
const MAX_REFUSAL = 200_000;

export class HttpExchange {
  readonly #deps: CallDeps;
  readonly #stall: StallTimer;
  readonly #anonymous: boolean;
  readonly #tail: Uint8Array[] = [];
  #status: number | undefined;
  #retryAfterMs: number | undefined;
  #refusal: ProviderError | undefined;

  /** `anonymous`: removes the key that a library requires. */
  constructor(deps: CallDeps, stall: StallTimer, anonymous: boolean) {
    this.#deps = deps;
    this.#stall = stall;
    this.#anonymous = anonymous;
  }

  /** Of the last response. */
  get status(): number | undefined {
    return this.#status;
  }

  get retryAfterMs(): number | undefined {
    return this.#retryAfterMs;
  }

  /** The error the provider reported, in its response or in the stream. Decoded only here. */
  error(): ProviderError | undefined {
    return this.#refusal ?? errorInStream(Buffer.concat(this.#tail).toString("utf8"));
  }

  /** Resets the stall timer: data arrived in another way than through `fetch`. */
  received(): void {
    this.#stall.reset();
  }

  /** For a library: like `open`, and watches the response's stream. */
  readonly fetch: typeof fetch = async (input, init) => {
    const response = await this.open(input, init);
    return response.ok && response.body ? this.#watched(response, response.body) : response;
  };

  /** Sends. Reads and keeps a response that is not a success; its body can be read again. */
  async open(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const headers = new Headers(init?.headers);
    for (const name of [...headers.keys()]) if (LIBRARY_HEADERS.test(name)) headers.delete(name);
    if (this.#anonymous) for (const name of ["authorization", "x-api-key"]) headers.delete(name);
    headers.set("user-agent", this.#deps.userAgent);
    // The library names itself here.
    if (headers.has("originator")) headers.set("originator", "rookery");
    // No redirects: they would send the key and the conversation to an address that is not configured.
    const response = await this.#deps.fetch(input, { ...init, headers, redirect: "manual" });
    this.#stall.reset();
    this.#status = response.status;
    if (response.ok) return response;
    const body = await refusalOf(response);
    this.#refused(response.status, body, (name) => response.headers.get(name));
    const { status, statusText } = response;
    return new Response(body, { status, statusText, headers: response.headers });
  }

  /** Like `open`, for an adaptor without a library. Undefined if the response is not a success. */
  async post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<HttpAnswer | undefined> {
    const { post = postThroughFetch(this.#deps.fetch), userAgent } = this.#deps;
    const answer = await post(url, { ...headers, "user-agent": userAgent }, body, signal);
    const { status } = answer;
    this.#stall.reset();
    this.#status = status;
    if (status >= 200 && status < 300) return answer;
    this.#refused(status, await textOf(answer, MAX_REFUSAL), answer.header);
    return undefined;
  }

  #refused(status: number, body: string, header: (name: string) => string | null | undefined): void {
    this.#refusal = errorInBody(status, body);
    this.#retryAfterMs = retryAfterMs(header, this.#deps.clock) ?? retryDelayIn(body);
  }

  #watched(response: Response, body: ReadableStream<Uint8Array>): Response {
    const reader = body.getReader();
    let rest: Uint8Array | undefined;
    const watched = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        if (rest) {
          // The library reads a chunk in one go; others get their turn between two slices.
          await setImmediate();
        } else {
          const { done, value } = await reader.read();
          this.#stall.reset();
          if (done) return controller.close();
          this.#tail.push(value);
          if (this.#tail.length > TAIL_CHUNKS) this.#tail.shift();
          rest = value;
        }
        controller.enqueue(rest.subarray(0, SLICE_BYTES));
        rest = rest.length > SLICE_BYTES ? rest.subarray(SLICE_BYTES) : undefined;
      },
      cancel: (reason) => reader.cancel(reason),
    });
    const { status, statusText, headers } = response;
    return new Response(watched, { status, statusText, headers });
  }
}

/** The body of a refusal, up to its limit. The rest is not read. */
async function refusalOf({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const chunks: Uint8Array[] = [];
  for (let size = 0; reader && size <= MAX_REFUSAL; ) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.length;
  }
  reader?.cancel().catch(() => {});
  return decoded(chunks);
}

/** The body. Throws `TooLargeError` if it has more bytes. */
export async function textOf(answer: HttpAnswer, maxBytes: number, onData: () => void = () => {}): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  await answer.read((chunk) => {
    onData();
    size += chunk.length;
    if (size > maxBytes) throw new TooLargeError(`The answer has more than ${maxBytes} bytes.`);
    chunks.push(chunk);
  });
  return decoded(chunks);
}

const decoded = (chunks: readonly Uint8Array[]): string => Buffer.concat(chunks).toString("utf8");

/** Fires when no data arrived for a time. One lazy timer: `reset` costs one assignment. */
export class StallTimer {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #onStall: () => void;
  #lastDataAt: number;
  #cancel: () => void;

  constructor(clock: Clock, ms: number, onStall: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#onStall = onStall;
    this.#lastDataAt = clock.monotonic();
    this.#cancel = clock.after(ms, () => this.#check());
  }

  reset(): void {
    this.#lastDataAt = this.#clock.monotonic();
  }

  cancel(): void {
    this.#cancel();
  }

  #check(): void {
    const left = this.#lastDataAt + this.#ms - this.#clock.monotonic();
    if (left > 0) this.#cancel = this.#clock.after(left, () => this.#check());
    else this.#onStall();
  }
}

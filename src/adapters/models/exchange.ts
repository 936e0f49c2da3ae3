/**
 * One HTTP request as an adaptor makes it: our own name on it and no library's, the answer's status and the end of its
 * stream remembered for whoever has to say what went wrong, and silence noticed.
 */
import type { Clock } from "../../core/ports/clock.ts";
import type { HttpAnswer } from "../../core/ports/http-post.ts";
import { postThroughFetch } from "./post-through-fetch.ts";
import type { CallDeps } from "./provider-call.ts";
import { errorInBody, errorInStream, type ProviderError } from "./provider-error.ts";
import { retryAfterMs, retryDelayIn } from "./retry-after.ts";

/** Headers by which client libraries tell the world about themselves and their host. */
const CHATTY = /^(?:x-stainless-|anthropic-dangerous-direct-browser-access$|x-goog-api-client$)/;
const TAIL_CHUNKS = 8;

export class Exchange {
  readonly #deps: CallDeps;
  readonly #silence: Silence;
  readonly #anonymous: boolean;
  readonly #tail: Uint8Array[] = [];
  #status: number | undefined;
  #retryAfterMs: number | undefined;
  #refusal: ProviderError | undefined;

  /** `anonymous`: whatever key a library insists on is taken off again. */
  constructor(deps: CallDeps, silence: Silence, anonymous: boolean) {
    this.#deps = deps;
    this.#silence = silence;
    this.#anonymous = anonymous;
  }

  /** Of the last answer. */
  get status(): number | undefined {
    return this.#status;
  }

  get retryAfterMs(): number | undefined {
    return this.#retryAfterMs;
  }

  /** What the provider said was wrong: in its answer, or in the stream. Decodes only when asked. */
  error(): ProviderError | undefined {
    return this.#refusal ?? errorInStream(Buffer.concat(this.#tail).toString("utf8"));
  }

  /** Something came in another way than through `fetch`. */
  heard(): void {
    this.#silence.broken();
  }

  /** For a library: as `open`, and the answer's stream is listened to on its way. */
  readonly fetch: typeof fetch = async (input, init) => {
    const response = await this.open(input, init);
    return response.ok && response.body ? this.#watched(response, response.body) : response;
  };

  /** Sends. An answer that is no success is read and remembered; its body can be read again. */
  async open(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const headers = new Headers(init?.headers);
    for (const name of [...headers.keys()]) if (CHATTY.test(name)) headers.delete(name);
    if (this.#anonymous) for (const name of ["authorization", "x-api-key"]) headers.delete(name);
    headers.set("user-agent", this.#deps.userAgent);
    // A redirect is not followed: it would take the key and the conversation to an address nobody configured.
    const response = await this.#deps.fetch(input, { ...init, headers, redirect: "manual" });
    this.#silence.broken();
    this.#status = response.status;
    if (response.ok) return response;
    const body = await response.text();
    this.#refused(response.status, body, (name) => response.headers.get(name));
    const { status, statusText } = response;
    return new Response(body, { status, statusText, headers: response.headers });
  }

  /** As `open`, for who speaks a protocol without a library. Undefined where the answer is no success. */
  async post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<HttpAnswer | undefined> {
    const { post = postThroughFetch(this.#deps.fetch), userAgent } = this.#deps;
    const answer = await post(url, { ...headers, "user-agent": userAgent }, body, signal);
    const { status } = answer;
    this.#silence.broken();
    this.#status = status;
    if (status >= 200 && status < 300) return answer;
    this.#refused(status, await textOf(answer), answer.header);
    return undefined;
  }

  #refused(status: number, body: string, header: (name: string) => string | null | undefined): void {
    this.#refusal = errorInBody(status, body);
    this.#retryAfterMs = retryAfterMs(header, this.#deps.clock) ?? retryDelayIn(body);
  }

  #watched(response: Response, body: ReadableStream<Uint8Array>): Response {
    const reader = body.getReader();
    const watched = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read();
        this.#silence.broken();
        if (done) return controller.close();
        this.#tail.push(value);
        if (this.#tail.length > TAIL_CHUNKS) this.#tail.shift();
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
    const { status, statusText, headers } = response;
    return new Response(watched, { status, statusText, headers });
  }
}

/** A whole body. */
export async function textOf(answer: HttpAnswer, heard: () => void = () => {}): Promise<string> {
  const chunks: Uint8Array[] = [];
  await answer.read((chunk) => {
    heard();
    chunks.push(chunk);
  });
  return Buffer.concat(chunks).toString("utf8");
}

/** Notices when nothing was heard for a time. One timer, moved on lazily: hearing something costs one assignment. */
export class Silence {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #onTooLong: () => void;
  #heardAt: number;
  #cancel: () => void;

  constructor(clock: Clock, ms: number, onTooLong: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#onTooLong = onTooLong;
    this.#heardAt = clock.monotonic();
    this.#cancel = clock.after(ms, () => this.#look());
  }

  broken(): void {
    this.#heardAt = this.#clock.monotonic();
  }

  end(): void {
    this.#cancel();
  }

  #look(): void {
    const left = this.#heardAt + this.#ms - this.#clock.monotonic();
    if (left > 0) this.#cancel = this.#clock.after(left, () => this.#look());
    else this.#onTooLong();
  }
}

/**
 * The page without a browser: a document of linkedom, a virtual clock, and a gateway whose answers the test gives, late, twice, out of
 * order or not at all. Import it before modules of the page.
 */
import { parseHTML } from "linkedom";
import { afterAll, beforeAll, beforeEach, vi } from "vitest";

const ORIGIN = "http://127.0.0.1:7";

class MemoryStorage {
  readonly #values = new Map<string, string>();
  get length(): number {
    return this.#values.size;
  }
  key = (n: number): string | null => [...this.#values.keys()][n] ?? null;
  getItem = (key: string): string | null => this.#values.get(key) ?? null;
  setItem = (key: string, value: string): void => void this.#values.set(key, value);
  removeItem = (key: string): void => void this.#values.delete(key);
  clear = (): void => this.#values.clear();
}

/** One request of the page that has no answer yet, unless the test gives one. */
export class Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: unknown;
  readonly signal: AbortSignal | undefined;
  readonly answered = Promise.withResolvers<Response>();

  constructor(url: string, init: RequestInit) {
    const { pathname, searchParams } = new URL(url);
    this.method = init.method ?? "GET";
    this.path = pathname;
    this.query = searchParams;
    this.headers = new Headers(init.headers);
    this.body = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    this.signal = init.signal ?? undefined;
    this.signal?.addEventListener("abort", () => this.answered.reject(new DOMException("aborted", "AbortError")));
  }

  get isAborted(): boolean {
    return this.signal?.aborted === true;
  }

  answer(json: unknown, status = 200): Promise<void> {
    this.answered.resolve(Response.json(json, { status }));
    return settle();
  }

  refuse(status: number, code: string, message = code): Promise<void> {
    return this.answer({ error: { code, message, retryable: false } }, status);
  }

  /** The connection breaks before an answer. */
  lose(): Promise<void> {
    this.answered.reject(new TypeError("Failed to fetch"));
    return settle();
  }

  /** Answers with a stream of events. */
  async stream(): Promise<Streamed> {
    const stream = new Streamed();
    this.answered.resolve(new Response(stream.body, { headers: { "content-type": "text/event-stream" } }));
    this.signal?.addEventListener("abort", () => stream.break());
    await settle();
    return stream;
  }
}

export class Streamed {
  #out: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly body = new ReadableStream<Uint8Array>({
    start: (out) => {
      this.#out = out;
    },
  });

  /** Sends events. Each is a type, its data, and its id if it has one. */
  async send(...events: readonly (readonly [string, object, string?])[]): Promise<void> {
    for (const [type, data, id] of events) {
      const head = id === undefined ? "" : `id: ${id}\n`;
      this.write(`${head}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
    }
    await settle();
  }

  write(text: string): void {
    this.#out?.enqueue(new TextEncoder().encode(text));
  }

  /** The connection breaks. */
  cut(): Promise<void> {
    this.break();
    return settle();
  }

  break(): void {
    this.#out?.error(new TypeError("network error"));
  }
}

/** Requests in their order. A test answers them in any. */
export const asked: Asked[] = [];

/** The last request to this path. */
export function lastTo(path: string, method = "GET"): Asked {
  const found = asked.findLast((one) => one.path === path && one.method === method);
  if (!found)
    throw new Error(`No ${method} ${path} among ${asked.map((one) => `${one.method} ${one.path}`).join(", ")}`);
  return found;
}

export const countTo = (path: string, method = "GET"): number =>
  asked.filter((one) => one.path === path && one.method === method).length;

/** Runs after answers and streams have arrived. The page's own types have no such function. */
const afterInput: (run: () => void) => void = Reflect.get(globalThis, "setImmediate");

/** Lets everything happen that needs no time. */
export async function settle(): Promise<void> {
  for (let n = 0; n < 6; n++) {
    await new Promise<void>(afterInput);
    await vi.advanceTimersByTimeAsync(0);
  }
}

export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await settle();
}

export function see(state: "visible" | "hidden"): void {
  visibility = state;
  document.dispatchEvent(new Event("visibilitychange"));
}

let visibility = "visible";
const { document: page, window } = parseHTML("<!doctype html><html><body><div id='app'></div></body></html>");
Object.defineProperty(page, "visibilityState", { get: () => visibility });
const names = [
  "Event",
  "CustomEvent",
  "Element",
  "HTMLElement",
  "Node",
  "NodeFilter",
  "DocumentFragment",
  "HTMLTemplateElement",
];
for (const name of names)
  Object.defineProperty(globalThis, name, { value: Reflect.get(window, name), configurable: true });
const given = {
  window: globalThis,
  document: page,
  location: { href: `${ORIGIN}/`, hash: "", pathname: "/" },
  history: { replaceState: (): void => undefined },
  localStorage: new MemoryStorage(),
  addEventListener: (): void => undefined,
  removeEventListener: (): void => undefined,
  requestAnimationFrame: (run: () => void) => setTimeout(run, 16),
  cancelAnimationFrame: (timer: ReturnType<typeof setTimeout>) => clearTimeout(timer),
  fetch: (url: string, init: RequestInit = {}): Promise<Response> => {
    const one = new Asked(url, init);
    asked.push(one);
    return one.answered.promise;
  },
};
for (const [name, value] of Object.entries(given)) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

// One clock for all tests of a file: the modules of the page keep times.
beforeAll(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"] });
});
afterAll(() => {
  vi.useRealTimers();
});
beforeEach(() => {
  asked.length = 0;
  localStorage.clear();
  visibility = "visible";
});

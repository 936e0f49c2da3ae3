/** Requests over HTTP with the standard `fetch`, in Node and in browsers. */
import { InvalidInputError } from "../../core/errors.ts";
import type { KeyTable } from "../../core/known-keys.ts";
import { lostConnection } from "./api.ts";
import type { Transport } from "./transport.ts";

export interface HttpOptions {
  /** The address of the gateway, such as `http://127.0.0.1:18789`, or where another server has mounted it. */
  readonly url: string;
  /** Absent in a page of the gateway itself: its `fetch` sends a login. */
  readonly token?: string;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

export const HTTP_OPTIONS: KeyTable<HttpOptions> = { url: true, token: true, fetch: true };

export function httpTransport({ url, token, fetch = globalThis.fetch }: HttpOptions): Transport {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new InvalidInputError("The `url` of the gateway is not an HTTP address.", {
      hint: "Write it as `rookery serve` prints it, such as http://127.0.0.1:18789.",
    });
  }
  const base = url.endsWith("/") ? url.slice(0, -1) : url;
  return async ({ method, path, headers, body, signal }) => {
    const authorized = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
    const response = await fetch(base + path, { method, headers: authorized, body, signal }).catch((cause) => {
      throw lostConnection(cause);
    });
    const bytes = async () => {
      const all = await response.arrayBuffer().catch((cause) => {
        throw lostConnection(cause);
      });
      return new Uint8Array(all);
    };
    return { status: response.status, body: piecesOf(response.body), bytes };
  };
}

async function* piecesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  if (!body) return;
  // Not every browser iterates over a stream.
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause) => {
        throw lostConnection(cause);
      });
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** `connectRookery` as browsers have it: a gateway by its address and a token. */
import { assertKnownKeys } from "../../core/known-keys.ts";
import { HTTP_OPTIONS, type HttpOptions, httpTransport } from "./http-transport.ts";
import { type RookeryClient, rookeryClient } from "./rookery-client.ts";
import type { Transport } from "./transport.ts";

/** An engine in another process. */
export interface ConnectedRookery extends RookeryClient, AsyncDisposable {
  /** Ends the streams of this client. The engine goes on. */
  close(): Promise<void>;
}

/** Nothing is sent until the first method is called. */
export function connectRookery(options: HttpOptions): ConnectedRookery {
  assertKnownKeys("connectRookery()", options, HTTP_OPTIONS);
  return connectedBy(httpTransport(options));
}

export function connectedBy(transport: Transport): ConnectedRookery {
  const closing = new AbortController();
  const { signal } = closing;
  const close = async (): Promise<void> => closing.abort();
  const ended: Transport = (request) =>
    transport({ ...request, signal: request.signal ? AbortSignal.any([request.signal, signal]) : signal });
  return { ...rookeryClient(ended, signal), close, [Symbol.asyncDispose]: close };
}

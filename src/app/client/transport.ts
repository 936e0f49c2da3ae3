/**
 * How a client reaches an engine: one request in, one answer out. The control socket, HTTP and a call inside the process are
 * three transports under the same methods.
 */

export interface TransportRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With every part encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, or the bytes of a file. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** Throws if the connection ends before the answer does. A reader that stops early ends the request. */
  readonly body: AsyncIterable<string>;
  /** The whole body as bytes, instead of `body`. */
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
}

/** Rejects with `ConnectionLostError` if there is no answer. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

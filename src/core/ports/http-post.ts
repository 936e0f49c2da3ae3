/**
 * The port for one plain HTTP request whose answer is streamed. It has only what a call to a model's server needs, because such
 * calls are most of the engine's network use.
 */

export interface HttpAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  /** Streams the body to the callback. Resolves at its end; rejects if it breaks off or the callback throws. Call it once. */
  read(onChunk: (chunk: Uint8Array) => void): Promise<void>;
}

/** Resolves when the head of the answer has arrived; redirects are not followed. Rejects without an answer, or by the signal. */
export type HttpPost = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
) => Promise<HttpAnswer>;

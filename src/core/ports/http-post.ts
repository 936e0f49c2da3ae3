/**
 * The port of one plain HTTP request whose answer is read as it comes: what a call to a model's server needs, and no more
 * than that, because such calls are most of what an engine does with the network.
 */

export interface HttpAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  /** Hands the body over piece by piece. Resolves at its end; rejects where it breaks off or the callback throws. Once only. */
  read(onChunk: (chunk: Uint8Array) => void): Promise<void>;
}

/** Resolves when the head of the answer is there; redirects are not followed. Rejects where nobody answers, or by the signal. */
export type HttpPost = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
) => Promise<HttpAnswer>;

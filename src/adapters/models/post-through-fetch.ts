/** A plain POST request through `fetch`, for programs and tests that replace it. */
import type { HttpAnswer, HttpPost } from "../../core/ports/http-post.ts";

export const postThroughFetch =
  (ask: typeof fetch): HttpPost =>
  async (url, headers, body, signal) => {
    const response = await ask(url, { method: "POST", headers, body, signal, redirect: "manual" });
    return {
      status: response.status,
      header: (name) => response.headers.get(name) ?? undefined,
      read: (onChunk) => readAll(response.body, onChunk),
    } satisfies HttpAnswer;
  };

async function readAll(body: ReadableStream<Uint8Array> | null, onChunk: (chunk: Uint8Array) => void): Promise<void> {
  const reader = body?.getReader();
  try {
    while (reader) {
      const { done, value } = await reader.read();
      if (done) return;
      onChunk(value);
    }
  } finally {
    // After a failure the rest is not read; the connection must not wait for a reader.
    reader?.cancel().catch(() => {});
  }
}

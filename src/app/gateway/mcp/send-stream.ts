/** Sends a stream of messages through the gateway's own writer: bounded, with heartbeats, and closed when its token is revoked. */
import { openEventStream, type StreamRequest } from "../events/open-event-stream.ts";

/** Returns at once; the stream goes on until the body ends or the caller is gone. */
export function sendStream(request: StreamRequest, body: ReadableStream<Uint8Array>): void {
  const writer = openEventStream(request);
  const reader = body.getReader();
  writer.onClose(() => void reader.cancel().catch(() => undefined));
  const decoder = new TextDecoder();
  const pump = async (): Promise<void> => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const text = decoder.decode(next.value, { stream: true });
      writer.write({ text, render: (frame) => frame });
    }
  };
  pump().then(
    () => writer.close("done"),
    () => writer.close("gone"),
  );
}

/** Opens a server-sent stream as the answer to a request: headers, heartbeat, the limits of its token. */
import { HttpError } from "../http/http-error.ts";
import type { Call } from "../http/route.ts";
import { EventStreamWriter } from "./event-stream-writer.ts";

const HEARTBEAT_MS = 15_000;
const STALLED_MS = 30_000;
const HEARTBEAT = { text: "", render: () => ": here\n\n" } as const;

/** Refuses where no more streams may be opened. Asked before anything is accepted. */
export function requireRoom({ context, principal }: Call): void {
  if (context.streams.hasRoom(principal)) return;
  throw new HttpError(429, "too_many_streams", "There are too many streams open.", { retryAfterMs: 1_000 });
}

export function openEventStream(call: Call): EventStreamWriter {
  const { context, principal, outgoing } = call;
  requireRoom(call);
  const { clock } = context.ports;
  const after = clock.after.bind(clock);
  outgoing.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
  });
  outgoing.flushHeaders();
  outgoing.socket?.setNoDelay(true);
  const bufferBytes = context.config().gateway.limits.streamBufferBytes;
  const writer = new EventStreamWriter(outgoing, { bufferBytes, stalledMs: STALLED_MS, after });
  const leave = context.streams.enter(principal, writer);
  let beat: (() => void) | undefined;
  const arm = (): void => {
    beat = after(HEARTBEAT_MS, () => {
      // A token that has expired meanwhile keeps nothing open.
      if (!context.tokens.stillValid(principal)) return writer.close("revoked");
      writer.write(HEARTBEAT);
      arm();
    });
  };
  arm();
  writer.onClose((reason) => {
    beat?.();
    leave();
    context.metrics.count(`streams_closed_${reason}`);
  });
  return writer;
}

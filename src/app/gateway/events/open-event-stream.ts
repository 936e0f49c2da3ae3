/** Opens a server-sent stream as the answer to a request: headers, heartbeat, the limits of its token. */
import { HttpError } from "../http/http-error.ts";
import type { Call } from "../http/route.ts";
import { Outlet } from "./event-stream-writer.ts";

const HEARTBEAT_MS = 15_000;
const STALLED_MS = 30_000;
const HEARTBEAT = { text: "", render: () => ": here\n\n" } as const;

/** Refuses where no more streams may be opened. Asked before anything is accepted. */
export function requireRoom({ desk, principal }: Call): void {
  if (desk.streams.hasRoom(principal)) return;
  throw new HttpError(429, "too_many_streams", "There are too many streams open.", { retryAfterMs: 1_000 });
}

export function openOutlet(call: Call): Outlet {
  const { desk, principal, outgoing } = call;
  requireRoom(call);
  const { clock } = desk.ports;
  const after = clock.after.bind(clock);
  outgoing.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
  });
  outgoing.flushHeaders();
  outgoing.socket?.setNoDelay(true);
  const bufferBytes = desk.config().gateway.limits.streamBufferBytes;
  const outlet = new Outlet(outgoing, { bufferBytes, stalledMs: STALLED_MS, after });
  const leave = desk.streams.enter(principal, outlet);
  let beat: (() => void) | undefined;
  const arm = (): void => {
    beat = after(HEARTBEAT_MS, () => {
      // A token that has expired meanwhile keeps nothing open.
      if (!desk.tokens.stillValid(principal)) return outlet.close("revoked");
      outlet.write(HEARTBEAT);
      arm();
    });
  };
  arm();
  outlet.onClose((reason) => {
    beat?.();
    leave();
    desk.metrics.count(`streams_closed_${reason}`);
  });
  return outlet;
}

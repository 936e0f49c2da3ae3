/** Answers a request with a stream of server-sent events: headers, heartbeats, and the stream limits of its token. */

import type { ServerResponse } from "node:http";
import type { Settings } from "../../../config/settings.ts";
import type { Current } from "../../../core/current.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Principal } from "../auth/principal.ts";
import { isStillValid, type ValidityContext } from "../auth/still-valid.ts";
import type { GatewayLimits } from "../http/gateway-limits.ts";
import { HttpError } from "../http/http-error.ts";
import type { Metrics } from "../http/metrics.ts";
import { EventStreamWriter } from "./event-stream-writer.ts";
import type { OpenStreams } from "./open-streams.ts";

/** The part of the gateway's context that a stream needs. */
export interface StreamContext extends ValidityContext {
  readonly ports: { readonly clock: Clock };
  readonly settings: Current<Settings>;
  readonly limits: Pick<GatewayLimits, "streamBufferBytes">;
  readonly streams: OpenStreams;
  readonly metrics: Metrics;
}

export interface StreamRequest<Context extends StreamContext = StreamContext> {
  readonly context: Context;
  readonly principal: Principal;
  readonly outgoing: ServerResponse;
}

const HEARTBEAT_MS = 15_000;
const STALLED_MS = 30_000;
const HEARTBEAT = { text: "", render: () => ": here\n\n" } as const;

/** Throws a 429 if no more streams may be opened. Call it before a message is accepted. */
export function assertStreamAllowed({ context, principal }: StreamRequest): void {
  if (context.streams.hasRoom(principal)) return;
  throw new HttpError(429, "too_many_streams", "Too many streams are open. Close one, or try again later.", {
    retryAfterMs: 1_000,
  });
}

export function openEventStream(request: StreamRequest): EventStreamWriter {
  const { context, principal, outgoing } = request;
  assertStreamAllowed(request);
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
  const bufferBytes = context.limits.streamBufferBytes;
  const writer = new EventStreamWriter(outgoing, { bufferBytes, stalledMs: STALLED_MS, after });
  const remove = context.streams.add(principal, writer);
  let cancelHeartbeat: (() => void) | undefined;
  const scheduleHeartbeat = (): void => {
    cancelHeartbeat = after(HEARTBEAT_MS, () => {
      // What has expired or was taken away keeps no stream open.
      const valid = isStillValid(context, principal);
      if (valid === false) return writer.close("revoked");
      if (valid !== true) void valid.then((known) => known || writer.close("revoked"));
      writer.write(HEARTBEAT);
      scheduleHeartbeat();
    });
  };
  scheduleHeartbeat();
  writer.onClose((reason) => {
    cancelHeartbeat?.();
    remove();
    context.metrics.count(`streams_closed_${reason}`);
  });
  return writer;
}

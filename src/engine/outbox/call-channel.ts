/** Calls to a channel. Each ends in bounded time; neither a timeout nor an error of the connector is thrown. */

import type { Delivery } from "../../core/delivery/delivery.ts";
import { errorText } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector, OutgoingDelivery, SendResult } from "../../core/ports/connector.ts";

export async function send(
  clock: Clock,
  connector: Connector,
  delivery: Delivery,
  timeoutMs: number,
): Promise<SendResult> {
  const timedOut: SendResult = { status: "unknown", reason: "timed out" };
  try {
    return await withTimeout(clock, timeoutMs, (signal) => connector.send(outgoing(delivery), signal), timedOut);
  } catch (error) {
    return { status: "unknown", reason: errorText(error) };
  }
}

/** Whether a delivery has arrived. Undefined: the channel gave no answer. */
export async function lookUp(clock: Clock, connector: Connector, delivery: Delivery, timeoutMs: number) {
  const call = async () => connector.lookup?.(outgoing(delivery));
  return withTimeout(clock, timeoutMs, call, undefined).catch(() => undefined);
}

/** The channel gets everything but the trigger's slot. */
function outgoing({ id, target, payload: { slot: _, ...payload } }: Delivery): OutgoingDelivery {
  return { id, target, payload };
}

async function withTimeout<T>(
  clock: Clock,
  ms: number,
  call: (signal: AbortSignal) => Promise<T>,
  onTimeout: T,
): Promise<T> {
  const timeout = new AbortController();
  const cancel = clock.after(ms, () => timeout.abort());
  const timedOut = new Promise<T>((resolve) => {
    timeout.signal.addEventListener("abort", () => resolve(onTimeout), { once: true });
  });
  try {
    return await Promise.race([call(timeout.signal), timedOut]);
  } finally {
    cancel();
  }
}

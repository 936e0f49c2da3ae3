/** Addresses of deliveries as texts. */
import type { DeliveryContext } from "./delivery.ts";

/**
 * An address as text, equal for equal addresses. The store keeps it, and deliveries with the same key are sent one after
 * the other; a failing delivery blocks only its own key (M17).
 */
export function targetKey({ channel, accountId, to, threadId, lane }: DeliveryContext): string {
  return JSON.stringify({ channel, accountId, to, threadId, lane });
}

/** The `targetKey`s of a channel's addresses: at or after the first text and before the second one. */
export function targetKeysOf(channel: string): readonly [from: string, before: string] {
  const start = JSON.stringify({ channel }).slice(0, -1);
  return [`${start},`, `${start}-`];
}

/** Whether another node may still be sending a delivery: a second send would show it twice (L12). */

import type { Delivery } from "../../core/delivery/delivery.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Target } from "./target-queue.ts";

/**
 * A node that has left sends nothing. A node whose lease has ended may be paused, or the clocks may differ: unless the
 * channel is `idempotent`, its send gets the time a send may take, measured by the monotonic clock.
 */
export async function mayBeSentByOther(
  { clock, store }: Pick<Ports, "clock" | "store">,
  own: { readonly node: number; readonly sendTimeoutMs: number },
  target: Target,
  { id, attempts, node }: Delivery,
  idempotent: boolean,
): Promise<boolean> {
  if (node === undefined || node === own.node) return false;
  const sender = (await store.nodes()).find((other) => other.node === node);
  if (!sender || sender.left) return false;
  if (sender.leaseUntil > clock.now()) return true;
  if (idempotent) return false;
  const now = clock.monotonic();
  const seen = target.silentSender;
  const since = seen?.id === id && seen.attempts === attempts ? seen.since : now;
  target.silentSender = { id, attempts, since };
  return now - since <= own.sendTimeoutMs;
}

/**
 * What an agent's last heartbeat said, read from its deliveries: whether a repetition is suppressed, and whether a newer one
 * replaces it, depends on what became of them and not on the run (M26).
 */
import type { AgentState } from "../../../core/agent/state.ts";
import { type Delivery, deliveryId } from "../../../core/delivery/delivery.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";

/** The fields of clawdbot's session entry, and whether the words were lost. */
export interface LastHeartbeat {
  readonly lastHeartbeatText: string;
  /** When the words were owed; clawdbot's name. */
  readonly lastHeartbeatSentAt: number;
  readonly failed: boolean;
}

type Reader = Pick<StoreReader, "delivery">;

/** A text has at most this many parts here. No one reads a longer alert. */
const MAX_PARTS = 100;

const SUPERSEDED = "a newer heartbeat replaces it";

export async function lastHeartbeatOf(store: Reader, state: AgentState): Promise<LastHeartbeat | undefined> {
  const { lastHeartbeatDeliveryId: id, lastHeartbeatText, lastHeartbeatSentAt } = state;
  if (id === undefined) {
    // Written by clawdbot, or by an older version of this program.
    if (lastHeartbeatText === undefined || lastHeartbeatSentAt === undefined) return undefined;
    return { lastHeartbeatText, lastHeartbeatSentAt, failed: false };
  }
  const parts = await partsFrom(store, id as DeliveryId);
  const [first] = parts;
  if (!first) return undefined;
  return {
    lastHeartbeatText: parts.map(({ payload }) => payload.text).join("\n"),
    lastHeartbeatSentAt: first.createdAt,
    failed: parts.some(({ state: became }) => became === "failed"),
  };
}

/** Ends the deliveries of the last heartbeat that still have no route. Refused if a route has appeared in between. */
export async function supersedeOps(store: Reader, state: AgentState): Promise<readonly Op[]> {
  const { lastHeartbeatDeliveryId: id } = state;
  if (id === undefined) return [];
  const parts = await partsFrom(store, firstOfRun(id as DeliveryId));
  return parts
    .filter(({ state: now }) => now === "unroutable")
    .map(({ id: part, attempts }) => ({
      op: "delivery.move",
      id: part,
      from: "unroutable",
      attempts,
      to: "suppressed",
      reason: SUPERSEDED,
    }));
}

/** A delivery and those of the same run after it. */
async function partsFrom(store: Reader, id: DeliveryId): Promise<readonly Delivery[]> {
  const parts: Delivery[] = [];
  const at = id.lastIndexOf(".");
  const runId = id.slice(0, at) as Parameters<typeof deliveryId>[0];
  for (let ordinal = Number(id.slice(at + 1)); parts.length < MAX_PARTS; ordinal++) {
    const part = await store.delivery(deliveryId(runId, ordinal));
    if (!part) break;
    parts.push(part);
  }
  return parts;
}

const firstOfRun = (id: DeliveryId): DeliveryId => `${id.slice(0, id.lastIndexOf("."))}.0` as DeliveryId;

/** The same words, however they were split. */
export const sameWords = (one: string, other: string): boolean =>
  one.replaceAll(/\s+/gu, "") === other.replaceAll(/\s+/gu, "");

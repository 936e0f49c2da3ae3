/**
 * What a channel says about a delivery after the send has ended: it arrived, it did not, or it must be sent in another way. So a delivery
 * that was listed as unconfirmed ends as what it is (L5), and its agent reads what did not arrive.
 */
import { cutText } from "../../core/cut-text.ts";
import type { Delivery } from "../../core/delivery/delivery.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { DeliveryReceipt } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op, Posted } from "../../core/store/change.ts";
import { claimedFor, commitKnown, postedIn } from "../commit/submit.ts";
import { type DeliveryMove, moveChange } from "./send-delivery.ts";

interface ReceiptDeps {
  readonly ports: Pick<Ports, "store" | "ids" | "clock">;
  /** The channel that says it: it speaks of its own deliveries only. */
  readonly channel: string;
  /** The node that wakes an agent which is told something. */
  readonly claimFor?: number;
  posted(posted: readonly Posted[]): void;
  /** A delivery was moved. */
  moved(delivery: Delivery): void;
}

/** A delivery that the channel wants in another way is not sent more often than this. */
const MAX_ATTEMPTS = 5;
/** How often a delivery may be moved by someone else while its receipt is taken. */
const MAX_CONFLICTS = 10;
const MAX_QUOTE = 200;

/** Durable when it resolves. One that says nothing new changes nothing. Rejects if the store does not answer: then it must come again. */
export async function takeReceipt(deps: ReceiptDeps, receipt: DeliveryReceipt): Promise<void> {
  for (let tries = 0; tries < MAX_CONFLICTS; tries++) {
    const delivery = await deps.ports.store.delivery(receipt.deliveryId);
    if (!delivery || delivery.target.channel !== deps.channel) return;
    const move = moveFor(delivery, receipt);
    if (!move || (await isMoved(deps, delivery, move))) return;
  }
  throw new StoreUnavailableError(`Delivery ${receipt.deliveryId} changes all the time.`);
}

/** False if the delivery has changed since it was read: by the end of its send, by another receipt, by a person. */
async function isMoved(deps: ReceiptDeps, delivery: Delivery, move: DeliveryMove): Promise<boolean> {
  const { ports, claimFor } = deps;
  const told = move.to === "failed" ? [notDeliveredOp(delivery, move.reason ?? "", ports.clock.now())] : [];
  for (const also of told.length > 0 ? [claimedFor(told, claimFor), []] : [[]]) {
    const result = await commitKnown(ports.store, moveChange(ports, "outbox.receipt", delivery, move, also));
    if (result.ok) {
      deps.posted(postedIn(result));
      deps.moved({ ...delivery, state: move.to });
      return true;
    }
    // Its agent may be gone.
    if (result.refused !== "missing") return false;
  }
  return false;
}

/** Undefined: nothing changes. */
function moveFor(
  { state, attempts }: Delivery,
  { status, reason, receipt, attempt = attempts }: DeliveryReceipt,
): DeliveryMove | undefined {
  // Receipts come late, twice and in any order: what is said about an earlier attempt was decided before the next one.
  if (attempt !== attempts) return undefined;
  const isUnknown = state === "unconfirmed" || state === "sending";
  if (status === "arrived") return isUnknown ? { to: "sent", receipt } : undefined;
  if (!isUnknown && state !== "sent") return undefined;
  if (status === "again" && attempts < MAX_ATTEMPTS) return { to: "pending", reason, toTail: true };
  return { to: "failed", reason, receipt };
}

/** Tells an agent that something it said did not arrive. It is recorded and starts no run. */
export function notDeliveredOp({ agentId, target, payload }: Delivery, reason: string, at: number): Op {
  const where = [target.channel, target.to].filter(Boolean).join(":");
  const said = cutText((payload.text ?? payload.files?.map(({ name }) => name).join(", ") ?? "").trim(), MAX_QUOTE);
  const text = `This did not reach ${where}: ${JSON.stringify(said)}\nReason: ${reason}`;
  const behalf = payload.person && { person: payload.person };
  const message = { body: { kind: "system", text, silent: true }, behalf, acceptedAt: at } as const;
  return { op: "message.post", to: { agentId }, message };
}

/** Ops on the outbox. Every move names the state it starts from, so that two senders cannot both win (L12). */

import { type DeliveryState, type NewDelivery, targetKey } from "../../../core/delivery/delivery.ts";
import type { Op, OpResult } from "../../../core/store/change.ts";
import { type Applying, ownerOf } from "./apply-change.ts";
import { RefusedChange } from "./refused.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

const ENDED: readonly DeliveryState[] = ["sent", "suppressed", "failed", "unconfirmed"];

export function addDelivery(applying: Applying, delivery: NewDelivery): OpResult | undefined {
  const { db } = applying;
  const owner = ownerOf(applying);
  const target = targetKey(delivery.target);
  const isNext = !delivery.ended && db.statement("select-owed-to").get(target) === undefined;
  db.statement("insert-delivery").run(
    delivery.id,
    owner.no,
    delivery.runId ?? null,
    delivery.ended?.state ?? "pending",
    delivery.createdAt,
    delivery.createdAt,
    delivery.ended ? applying.change.at : null,
    delivery.ended?.reason ?? null,
    target,
    JSON.stringify(delivery.payload),
  );
  applying.touched.add(owner.no);
  return isNext ? { op: "delivery.add", next: delivery.id } : undefined;
}

export function moveDelivery({ db, change, touched }: Applying, op: OpOf<"delivery.move">): undefined {
  const row = db.statement("select-delivery-guard").get(op.id);
  if (!row) throw new RefusedChange("missing", `There is no delivery ${op.id}.`);
  if (row.state !== op.from || row.attempts !== op.attempts) {
    throw new RefusedChange(
      "conflict",
      `Delivery ${op.id} is ${String(row.state)} after ${String(row.attempts)} attempts.`,
    );
  }
  const attempts = op.to === "sending" ? op.attempts + 1 : op.attempts;
  db.statement("move-delivery").run(
    op.to,
    attempts,
    op.node ?? null,
    op.nextAt ?? change.at,
    ENDED.includes(op.to) ? change.at : null,
    op.reason ?? null,
    op.receipt ?? null,
    row.n as number,
  );
  // Apart, because a row that gets another number is written anew in every index.
  if (op.toTail) db.statement("requeue-delivery").run(change.at, row.n as number);
  touched.add(Number(row.agent));
}

/** Ops on the outbox. Every move names the state it starts from, so that two senders cannot both win (L12). */
import type { Op } from "../../core/change.ts";
import { type DeliveryState, type NewDelivery, targetKey } from "../../core/delivery.ts";
import { type Applying, ownerOf } from "./apply-change.ts";
import { RefusedChange } from "./refused.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

const ENDED: readonly DeliveryState[] = ["sent", "suppressed", "failed", "unconfirmed"];

export function addDelivery(applying: Applying, delivery: NewDelivery): undefined {
  const owner = ownerOf(applying);
  applying.db
    .statement("insert-delivery")
    .run(
      delivery.id,
      owner.no,
      delivery.runId ?? null,
      delivery.ended?.state ?? "pending",
      delivery.createdAt,
      delivery.createdAt,
      delivery.ended ? applying.change.at : null,
      delivery.ended?.reason ?? null,
      targetKey(delivery.target),
      JSON.stringify(delivery.payload),
    );
  applying.touched.add(owner.no);
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
  const n = op.toTail ? Number(db.statement("select-last-delivery-n").get()?.n ?? 0) + 1 : Number(row.n);
  const attempts = op.to === "sending" ? op.attempts + 1 : op.attempts;
  db.statement("move-delivery").run(
    n,
    op.to,
    attempts,
    op.node ?? null,
    op.nextAt ?? change.at,
    op.toTail ? change.at : null,
    ENDED.includes(op.to) ? change.at : null,
    op.reason ?? null,
    op.receipt ?? null,
    op.id,
  );
  touched.add(Number(row.agent));
}

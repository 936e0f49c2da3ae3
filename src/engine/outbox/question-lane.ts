/**
 * Questions to people have a lane of their own in each chat, so they never delay an answer (M17, M44). One message at a time shows
 * an open question there. The next one follows when that question is settled, or when the person has written since. A fact of the
 * store says which message that is.
 */
import { z } from "zod";
import type { Delivery, DeliveryContext, Payload } from "../../core/delivery/delivery.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import type { ApprovalId } from "../../core/rights/approval.ts";
import type { Op } from "../../core/store/change.ts";
import type { StoreReader } from "../../core/store/store.ts";

/** A question is sent this often if no one knows whether it arrived, and once more when its person writes. */
export const MAX_SENDS = 3;

const shownSchema = z.object({
  approval: z.string(),
  delivery: z.string(),
  state: z.enum(["sent", "unconfirmed"]),
  /** The person has written since. */
  wrote: z.literal(true).optional(),
  /** It was sent once more because the person wrote. */
  again: z.literal(true).optional(),
});
/** The message of a chat that shows an open question. */
type ShownQuestion = z.infer<typeof shownSchema>;

type LaneStore = Pick<StoreReader, "approval" | "approvals" | "deliveryHead" | "fact">;

export const questionLane = (chat: DeliveryContext): DeliveryContext => ({ ...chat, lane: "questions" });
export const withoutLane = ({ lane: _, ...chat }: DeliveryContext): DeliveryContext => chat;

const factKey = (target: DeliveryContext): string => `questions:${targetKey(withoutLane(target))}`;

export async function readShown(store: Pick<StoreReader, "fact">, target: DeliveryContext) {
  const text = await store.fact(factKey(target));
  return { text: text ?? null, shown: text === undefined ? undefined : parseShown(text) };
}

function parseShown(text: string): ShownQuestion | undefined {
  try {
    return shownSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export const putShown = (target: DeliveryContext, shown: ShownQuestion, expect?: string | null): Op => ({
  ...{ op: "fact.put", key: factKey(target), value: JSON.stringify(shown), expect },
});

export const isOpen = async (store: Pick<StoreReader, "approval">, approval: string): Promise<boolean> =>
  (await store.approval(approval as ApprovalId))?.state === "pending";

/** How many sends of a question may have arrived. One that its channel refused for now is not among them. */
export const sendsOf = async (store: Pick<StoreReader, "approval">, approval: string): Promise<number> =>
  (await store.approval(approval as ApprovalId))?.shown ?? 0;

/** Counts a send of a question that has arrived, or may have. */
export const countSend = ({ agentId, payload: { asks } }: Delivery): readonly Op[] =>
  asks === undefined ? [] : [{ op: "approval.shown", id: asks as ApprovalId, agentId }];

/** Decides the turn of a question. `answers`: answers of this chat go first. `shown`: another question is open there. */
export async function questionTurn(
  store: LaneStore,
  { target, payload }: Delivery,
): Promise<"send" | "settled" | "answers" | "shown"> {
  const { asks } = payload;
  if (asks === undefined) return "send";
  if (!(await isOpen(store, asks))) return "settled";
  if (await store.deliveryHead(targetKey(withoutLane(target)))) return "answers";
  const { shown } = await readShown(store, target);
  if (!shown || shown.wrote || shown.state === "unconfirmed" || shown.approval === asks) return "send";
  return (await isOpen(store, shown.approval)) ? "shown" : "send";
}

const MAX_COUNTED = 100;

/** The question with the number of all that wait in its chat, if it fits. */
export async function withCount(store: LaneStore, { target, payload }: Delivery, maxLength = 4_000): Promise<Payload> {
  const chat = targetKey(withoutLane(target));
  const pending = await store.approvals({ states: ["pending"], limit: MAX_COUNTED });
  const count = pending.filter((one) => one.chat && targetKey(one.chat) === chat).length;
  const text = `${count} questions wait. This is one of them; "rookery approvals" lists all.\n\n${payload.text ?? ""}`;
  return count < 2 || text.length > maxLength ? payload : { ...payload, text };
}

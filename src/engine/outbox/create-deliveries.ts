/**
 * Turns what a run has to say into deliveries, each part of a long text a row of its own (M16). Written in the same
 * commit as the step that owes them.
 */

import {
  type DeliveryContext,
  deliveryId,
  type NewDelivery,
  type Payload,
  targetKey,
} from "../../core/delivery/delivery.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Trigger } from "../../core/message/trigger.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { AroundReply } from "./around-reply.ts";
import { isSilentReply } from "./silent-reply.ts";
import { splitText } from "./split-text.ts";

export interface DeliveryDraft {
  readonly agentId: AgentId;
  readonly runId: RunId;
  /** The ordinal of the first delivery. */
  readonly ordinal: number;
  readonly at: number;
  readonly target: DeliveryContext;
  readonly connectors: ReadonlyMap<string, Connector>;
}

/** A payload as deliveries to one target. */
export function createDeliveries(draft: DeliveryDraft, payload: Payload): readonly NewDelivery[] {
  const limit = draft.connectors.get(draft.target.channel ?? "")?.capabilities.maxTextLength;
  const parts = payload.text === undefined ? [undefined] : splitText(payload.text, limit);
  return parts.map((text, index) => ({
    id: deliveryId(draft.runId, draft.ordinal + index),
    agentId: draft.agentId,
    runId: draft.runId,
    target: draft.target,
    // Only the first part answers a message and carries the media.
    payload: index === 0 ? { ...payload, ...(text === undefined ? {} : { text }) } : { text, isError: payload.isError },
    createdAt: draft.at,
  }));
}

/** Deliveries of a triggered run say which slot they are owed for: it is told how they end. */
export function forSlot(trigger: Trigger | undefined, deliveries: readonly NewDelivery[]): readonly NewDelivery[] {
  if (trigger?.slot === undefined || trigger.type === "webhook") return deliveries;
  const slot = { jobId: trigger.id, slot: trigger.slot };
  return deliveries.map((one) => (one.ended ? one : { ...one, payload: { ...one.payload, slot } }));
}

/** What the run has already sent by a tool: each text stands beside its target. */
export interface AlreadySent {
  readonly texts: readonly string[];
  readonly targets: readonly DeliveryContext[];
}

/** A run's final reply: sent, or suppressed with its reason. Never nothing, so that it can be seen (L5). */
export function createReplyDeliveries(
  draft: DeliveryDraft,
  payload: Payload,
  sent: AlreadySent,
  { before, behind }: AroundReply = {},
): readonly NewDelivery[] {
  const reason = whySuppressed(draft.target, payload, sent);
  if (reason) return [suppressed(draft, payload, reason)];
  const first = before === undefined ? [] : createDeliveries(draft, { text: before });
  const text = [payload.text || [], behind ?? []].flat().join("\n\n");
  const rest = { ...draft, ordinal: draft.ordinal + first.length };
  return [...first, ...createDeliveries(rest, text ? { ...payload, text } : payload)];
}

/** What is not sent, and why. */
export function suppressed(draft: DeliveryDraft, payload: Payload, reason: string): NewDelivery {
  const { runId, ordinal, agentId, target, at } = draft;
  const ended = { state: "suppressed", reason } as const;
  return { id: deliveryId(runId, ordinal), agentId, runId, target, payload, createdAt: at, ended };
}

function whySuppressed(target: DeliveryContext, payload: Payload, sent: AlreadySent): string | undefined {
  const text = payload.text?.trim() ?? "";
  if (text === "" && !payload.mediaUrl && !payload.mediaUrls?.length) return "empty answer";
  if (isSilentReply(text)) return "silent reply";
  const here = targetKey(target);
  const said = sent.targets.some((other, at) => targetKey(other) === here && sent.texts[at]?.trim() === text);
  return said ? "already sent by a tool" : undefined;
}

/**
 * Makes deliveries out of a run's payloads. Each part of a long text is a separate row (M16). The caller commits them
 * with the step that produced them.
 */

import {
  type Button,
  type DeliveryContext,
  deliveryId,
  type NewDelivery,
  type Payload,
} from "../../core/delivery/delivery.ts";
import { type Routes, routed, routeOf } from "../../core/delivery/route.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Trigger } from "../../core/message/trigger.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Op } from "../../core/store/change.ts";
import type { AroundReply } from "./around-reply.ts";
import { splitText } from "./split-text.ts";

/** `NO_REPLY` is the token of an agent that has no answer to send. True if the token opens the text (and is not part of a longer word) or closes it. */
export function isSilentReply(text: string): boolean {
  const trimmed = text.trim();
  return SILENT_START.test(trimmed) || SILENT_END.test(trimmed);
}
const SILENT_START = /^NO_REPLY(?!\w)/u;
const SILENT_END = /(?<!\w)NO_REPLY$/u;

export interface DeliveryDraft {
  readonly agentId: AgentId;
  /** The profile of that agent. */
  readonly profile?: string;
  readonly runId: RunId;
  /** The ordinal of the first delivery. */
  readonly ordinal: number;
  readonly at: number;
  readonly target: DeliveryContext;
  /** The first sentence of the text. */
  readonly opening?: string;
  /** The person of the run. Every delivery names the person (M30). Undefined only for runs of an earlier version. */
  readonly person: PersonId | undefined;
  readonly connectors: ReadonlyMap<string, Connector>;
}

/** The routes that these connectors give to what an agent of this profile says. */
export const routesBy = (connectors: ReadonlyMap<string, Connector>, profile: string | undefined): Routes => ({
  connected: (channel) => connectors.has(channel),
  takenOver(target) {
    for (const connector of connectors.values()) {
      const other = connector.takesOver?.(target, profile);
      if (other) return other;
    }
    return undefined;
  },
});

/** The longest part of a text whose channel is not known yet: no channel takes less. */
const UNROUTED_TEXT = 2_000;

/**
 * One delivery, or one per part if the channel cannot carry the text as a whole. Without a connector they wait for a reader
 * or for a route (M26, M27).
 */
export function createDeliveries(draft: DeliveryDraft, payload: Payload): readonly NewDelivery[] {
  const { connectors, opening } = draft;
  const route = routeOf(draft.target, routesBy(connectors, draft.profile));
  const { target, waits } = routed(route);
  const connector = connectors.get(target.channel ?? "");
  const limit = route.state === "unroutable" ? UNROUTED_TEXT : connector?.capabilities.maxTextLength;
  const { sendFiles, buttons } = connector?.capabilities ?? {};
  const content = opening === undefined ? payload : { ...payload, text: paragraphs(opening, payload.text) };
  const named = connector && !sendFiles ? withFileLines(content) : content.text;
  const whole = payload.buttons && !buttons ? withChoices(named, payload.buttons) : named;
  const { person } = draft;
  const parts = whole === undefined || limit === undefined ? [whole] : splitText(whole, limit);
  const draftOf = (content: Payload, index: number): NewDelivery => ({
    id: deliveryId(draft.runId, draft.ordinal + index),
    agentId: draft.agentId,
    runId: draft.runId,
    target,
    payload: { ...content, person },
    createdAt: draft.at,
    waits,
  });
  // A channel that sends files gets each as a row of its own, behind the text: a row is one send (M16). One that is not known yet may.
  const { files = [], ...rest } = payload;
  const apart = (sendFiles || route.state === "unroutable") && files.length > 0;
  const said = apart ? parts.filter((text) => text !== undefined && text !== "") : parts;
  // Only the first part answers a message and carries the media.
  const first = apart ? rest : payload;
  return [
    ...said.map((text, index): Payload => (index === 0 ? { ...first, text } : { text, isError: payload.isError })),
    ...(apart ? files.map((file): Payload => ({ files: [file] })) : []),
  ].map(draftOf);
}

/** The draft of what follows these deliveries: only the first text that is sent gets the opening. */
export const after = (draft: DeliveryDraft, made: readonly NewDelivery[]): DeliveryDraft => ({
  ...draft,
  ordinal: draft.ordinal + made.length,
  opening: made.every(({ ended }) => ended) ? draft.opening : undefined,
});

const paragraphs = (...texts: readonly (string | undefined)[]): string => texts.filter(Boolean).join("\n\n");

/** The text for a channel that cannot carry files: a line names each. */
export function withFileLines({ text, files = [] }: Payload): string | undefined {
  if (files.length === 0) return text;
  const lines = files.map(({ name, mimeType, size }) => `[File: ${name} (${mimeType}, ${size} bytes)]`);
  return [text ?? [], lines].flat().join("\n");
}
/** For a channel without buttons. */
const withChoices = (text: string | undefined, buttons: readonly Button[]): string =>
  [text || [], buttons.map(({ label }, index) => `${index + 1}. ${label}`)].flat().join("\n");

/** The same ops. Deliveries among them wait for a reader or a route if no connector sends them. */
export const withRoutes = (
  ops: readonly Op[],
  connectors: DeliveryDraft["connectors"],
  profile: string,
): readonly Op[] =>
  ops.map((op) => {
    if (op.op !== "delivery.add" || op.delivery.ended || op.delivery.waits) return op;
    const route = routed(routeOf(op.delivery.target, routesBy(connectors, profile)));
    return { ...op, delivery: { ...op.delivery, ...route } };
  });

/** Adds the slot of a triggered run to its deliveries: the slot's record gets their outcome. */
export function forSlot(trigger: Trigger | undefined, deliveries: readonly NewDelivery[]): readonly NewDelivery[] {
  if (trigger?.slot === undefined || trigger.type === "webhook") return deliveries;
  const slot = { jobId: trigger.id, slot: trigger.slot };
  return deliveries.map((one) => (one.ended ? one : { ...one, payload: { ...one.payload, slot } }));
}

/** What the run has already sent by a tool. `texts` and `targets` have the same order. */
interface AlreadySent {
  readonly texts: readonly string[];
  readonly targets: readonly DeliveryContext[];
}

/** A run's final reply: to send, or suppressed with its reason. Never empty, so that the outbox lists it (L5). */
export function createReplyDeliveries(
  draft: DeliveryDraft,
  payload: Payload,
  sent: AlreadySent,
  { before, behind }: AroundReply = {},
): readonly NewDelivery[] {
  const reason = whySuppressed(draft.target, payload, sent);
  if (reason) return [suppressed(draft, payload, reason)];
  const first = before === undefined ? [] : createDeliveries(draft, { text: before });
  const text = paragraphs(payload.text, behind);
  const rest = after(draft, first);
  return [...first, ...createDeliveries(rest, text ? { ...payload, text } : payload)];
}

/** A delivery that is recorded and not sent. */
export function suppressed(draft: DeliveryDraft, payload: Payload, reason: string): NewDelivery {
  const { runId, ordinal, agentId, target, at, person } = draft;
  const ended = { state: "suppressed", reason } as const;
  const id = deliveryId(runId, ordinal);
  return { id, agentId, runId, target, payload: { ...payload, person }, createdAt: at, ended };
}

function whySuppressed(target: DeliveryContext, payload: Payload, sent: AlreadySent): string | undefined {
  const text = payload.text?.trim() ?? "";
  const { mediaUrl, mediaUrls = [], files = [] } = payload;
  if (text === "" && !mediaUrl && mediaUrls.length + files.length === 0) return "empty answer";
  if (isSilentReply(text)) return "silent reply";
  const here = targetKey(target);
  const isSent = sent.targets.some((other, at) => targetKey(other) === here && sent.texts[at]?.trim() === text);
  return isSent ? "already sent by a tool" : undefined;
}

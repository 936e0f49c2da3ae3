/**
 * Texts around a reply. If the agent's state asks for them: the model's reasoning before it, the run's usage after it. If an
 * earlier answer may not have arrived: a notice that says so, once (M46). None is part of the history or of the run's result.
 */

import { commandsOn } from "../../config/commands-on.ts";
import type { Settings } from "../../config/settings.ts";
import type { AgentState } from "../../core/agent/state.ts";
import { formatUsd } from "../../core/cost-text.ts";
import type { Current } from "../../core/current.ts";
import { cutText } from "../../core/cut-text.ts";
import type { Delivery, DeliveryContext, Payload } from "../../core/delivery/delivery.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import type { Usage } from "../../core/history/entry.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";

const MAY_NOT_HAVE_ARRIVED = "My last answer may not have arrived.";
const UNCONFIRMED_NOTICE = `${MAY_NOT_HAVE_ARRIVED} Send /again to see it.`;
/** A notice is owed only for answers that are younger than this. */
const NOTICE_MAX_AGE_MS = 24 * 3600_000;
/** How many unconfirmed deliveries of a target are read. At least every second one is an answer. */
const MAX_UNCONFIRMED = 20;
/** Facts whose keys begin so name the last delivery of a target with a notice. It speaks of all answers before it. */
export const NOTICED_FACTS = "noticed.";

/** A notice that its target has not got yet. */
export interface OwedNotice {
  readonly text: string;
  /** The last unconfirmed answer there. */
  readonly answer: Delivery;
  /** Records the delivery with the notice. Committed with it, so that it comes once; refused if someone else was first. */
  noticedBy(id: DeliveryId): Extract<Op, { op: "fact.put" }>;
}

interface NoticePorts extends Pick<Ports, "store" | "clock" | "connectors"> {
  readonly settings: Current<Pick<Settings, "commands">>;
}

/** Undefined if every answer to this target is confirmed, too old, or has had its notice. */
export async function owedNotice(
  { store, clock, connectors, settings }: NoticePorts,
  target: DeliveryContext,
): Promise<OwedNotice | undefined> {
  const { channel = "" } = target;
  const { sendingClass = "idempotent" } = connectors.get(channel) ?? {};
  if (sendingClass === "idempotent") return undefined;
  const [answer] = await unconfirmedAnswers(store, target);
  if (!answer || answer.createdAt <= clock.now() - NOTICE_MAX_AGE_MS) return undefined;
  const key = `${NOTICED_FACTS}${targetKey(target)}`;
  const before = await store.fact(key);
  const noticed = before && (await store.delivery((JSON.parse(before) as { id: DeliveryId }).id));
  if (noticed && noticed.n > answer.n) return undefined;
  const { agentId } = answer;
  return {
    answer,
    text: commandsOn(settings.current.commands, channel) ? UNCONFIRMED_NOTICE : MAY_NOT_HAVE_ARRIVED,
    noticedBy: (id) => ({ op: "fact.put", key, value: JSON.stringify({ agentId, id }), expect: before ?? null }),
  };
}

/** Asks the agent of that answer for the notice: only its owner makes deliveries. Asked twice for one answer, it gets one message. */
export function askForNotice({ answer: { id, n, agentId, target, payload } }: OwedNotice, at: number): Op {
  const behalf = payload.person && { person: payload.person };
  const body = { kind: "command", name: NOTICE_COMMAND, text: "" } as const;
  const dedupe = { key: `${NOTICED_FACTS}${id}.${n}`, keepUntil: at + NOTICE_MAX_AGE_MS };
  return { op: "message.post", to: { agentId }, message: { body, delivery: target, behalf, acceptedAt: at }, dedupe };
}
/** No person can type it: the engine posts it. */
export const NOTICE_COMMAND = "unconfirmed-notice";

/** The answers to a target that may not have arrived, the last first. */
export async function unconfirmedAnswers(
  store: Pick<Ports["store"], "unconfirmed">,
  target: DeliveryContext,
): Promise<readonly Delivery[]> {
  const deliveries = await store.unconfirmed(targetKey(target), { limit: MAX_UNCONFIRMED });
  return deliveries.filter(({ payload: { notice, action, buttons } }) => !notice && !action && !buttons);
}

/** The answer as it was written. */
export function withoutNotice({ payload }: Pick<Delivery, "payload">): Payload {
  const opening = `${UNCONFIRMED_NOTICE}\n\n`;
  return payload.text?.startsWith(opening) ? { ...payload, text: payload.text.slice(opening.length) } : payload;
}

export interface AroundReply {
  /** A separate message before the reply. */
  readonly before?: string;
  /** The last line of the reply. */
  readonly behind?: string;
}

interface RunFacts {
  /** The model's thinking, if its provider shows it. */
  readonly reasoning?: string;
  readonly usage?: Usage;
  readonly sessionKey: string;
}

export function aroundReply(
  { reasoningLevel, responseUsage }: Pick<AgentState, "reasoningLevel" | "responseUsage">,
  { reasoning, usage, sessionKey }: RunFacts,
): AroundReply {
  const before =
    reasoningLevel === "on" || reasoningLevel === "reasoning" ? formatReasoningMessage(reasoning ?? "") : "";
  const line = responseUsage === undefined || responseUsage === "off" || !usage ? "" : usageLine(usage);
  const behind = line !== "" && responseUsage === "full" ? `${line} · session ${sessionKey}` : line;
  return { before: before || undefined, behind: behind || undefined };
}

/** More than a person reads. */
const MAX_REASONING = 200_000;

/** Each line in italics separately: some channels do not show italics over several lines. */
export function formatReasoningMessage(text: string): string {
  const whole = text.trim();
  if (whole === "") return "";
  const trimmed = whole.length > MAX_REASONING ? `${cutText(whole, MAX_REASONING)}…` : whole;
  const lines = trimmed.split("\n").map((line) => (line === "" ? line : `_${line}_`));
  return `Reasoning:\n${lines.join("\n")}`;
}

function usageLine({ input, output, cost }: Usage): string {
  const price = cost && cost.total > 0 ? ` · est ${formatUsd(cost.total)}` : "";
  return `Usage: ${formatTokenCount(input)} in / ${formatTokenCount(output)} out${price}`;
}

function formatTokenCount(count: number): string {
  const safe = Number.isFinite(count) ? Math.max(0, count) : 0;
  if (safe >= 1_000_000) return `${(safe / 1_000_000).toFixed(1)}m`;
  if (safe >= 1_000) return `${(safe / 1_000).toFixed(safe >= 10_000 ? 0 : 1)}k`;
  return String(Math.round(safe));
}

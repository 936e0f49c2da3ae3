/**
 * Shapes the answer of a heartbeat: removes HEARTBEAT_OK, and suppresses an answer that says nothing else or repeats the last
 * one within a day. A suppressed answer is still a delivery with its reason (L5).
 */
import type { AgentState } from "../../../core/agent/state.ts";
import type { NewDelivery, Payload } from "../../../core/delivery/delivery.ts";
import type { Trigger } from "../../../core/message/trigger.ts";
import { type LastHeartbeat, sameWords } from "./last-heartbeat.ts";
import { HEARTBEAT_TOKEN, stripHeartbeatToken } from "./strip-heartbeat-token.ts";

export interface ShapedReply {
  readonly payloads: readonly Payload[];
  readonly suppress?: string;
  readonly stateFor?: (delivery: Pick<NewDelivery, "id">) => Partial<AgentState>;
}

interface ReplySettings {
  readonly ackMaxChars?: number;
  readonly includeReasoning?: boolean;
}

const DUPLICATE_WITHIN_MS = 24 * 3_600_000;

/** `last`: what the agent's last heartbeat said. */
export function shapeReply(
  last: LastHeartbeat | undefined,
  trigger: Trigger | undefined,
  said: { readonly payload: Payload; readonly reasoning: string },
  now: number,
  settings: ReplySettings,
): ShapedReply | undefined {
  const { payload } = said;
  const text = payload.text ?? "";
  if (trigger?.type !== "heartbeat" && !text.includes(HEARTBEAT_TOKEN)) return undefined;
  const media = payload.mediaUrl !== undefined || (payload.mediaUrls?.length ?? 0) > 0;
  const mode = trigger && trigger.type !== "webhook" ? "heartbeat" : "message";
  const stripped = stripHeartbeatToken(text, { mode, maxAckChars: settings.ackMaxChars });
  if (stripped.shouldSkip && !media) return { payloads: [], suppress: "nothing needs attention (HEARTBEAT_OK)" };
  const sent: Payload = { ...payload, text: stripped.text };
  if (trigger?.type !== "heartbeat") return { payloads: [sent] };
  const isRepeated = last && !last.failed && !media && sameWords(stripped.text, last.lastHeartbeatText);
  if (isRepeated && now - last.lastHeartbeatSentAt < DUPLICATE_WITHIN_MS) {
    return { payloads: [], suppress: "duplicate of the last heartbeat" };
  }
  const reasoning = settings.includeReasoning ? said.reasoning.trim() : "";
  return {
    payloads: [...(reasoning === "" ? [] : [{ text: `Reasoning:\n${reasoning}` }]), sent],
    // The two fields of clawdbot are read from the delivery from now on.
    stateFor: ({ id }) => ({
      lastHeartbeatDeliveryId: id,
      lastHeartbeatText: undefined,
      lastHeartbeatSentAt: undefined,
    }),
  };
}

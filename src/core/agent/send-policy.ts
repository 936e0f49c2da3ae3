/** Whether an agent may send: by the agent's own override, else by the rules. A rule that denies always wins. */
import { type KeyShape, readSessionKey } from "./key-shape.ts";
import type { SessionChatType } from "./session-entry.ts";
import { parseAgentSessionKey } from "./session-key.ts";
import type { AgentState } from "./state.ts";

export type SendDecision = "allow" | "deny";

/** A rule applies if everything it names matches; a rule that names nothing always applies. */
export interface SendRule {
  readonly action: SendDecision;
  readonly match?: {
    readonly channel?: string;
    readonly chatType?: SessionChatType;
    /** The beginning of a session key, with or without `agent:{profile}:` in front. */
    readonly keyPrefix?: string;
  };
}

export interface SendPolicy {
  readonly default?: SendDecision;
  readonly rules?: readonly SendRule[];
}

export interface SendQuestion {
  readonly policy?: SendPolicy;
  readonly state?: Pick<AgentState, "sendPolicy" | "channel" | "lastChannel" | "chatType">;
  readonly sessionKey?: string;
  readonly channel?: string;
  readonly chatType?: SessionChatType;
}

/** The answer to a send that was denied. */
export const SEND_BLOCKED = "send blocked by session policy";

export function resolveSendPolicy(question: SendQuestion): SendDecision {
  const { policy, state, sessionKey = "" } = question;
  if (state?.sendPolicy) return state.sendPolicy;
  if (!policy?.rules?.length) return policy?.default ?? "allow";
  const shape = readSessionKey(sessionKey);
  const channel = folded(question.channel ?? state?.channel ?? state?.lastChannel ?? shape?.channel);
  const chatType = question.chatType ?? state?.chatType ?? chatTypeOf(shape);
  const matching = policy.rules.filter(({ match = {} }) => {
    if (match.channel !== undefined && folded(match.channel) !== channel) return false;
    if (match.chatType !== undefined && match.chatType !== chatType) return false;
    return match.keyPrefix === undefined || hasPrefix(sessionKey, match.keyPrefix);
  });
  if (matching.some(({ action }) => action === "deny")) return "deny";
  if (matching.some(({ action }) => action === "allow")) return "allow";
  return policy.default ?? "allow";
}

const folded = (text: string | undefined): string | undefined => text?.trim().toLowerCase() || undefined;

function hasPrefix(sessionKey: string, prefix: string): boolean {
  const wanted = prefix.trim().toLowerCase();
  const rest = parseAgentSessionKey(sessionKey)?.rest ?? "";
  return [sessionKey.trim(), rest].some((key) => key.toLowerCase().startsWith(wanted));
}

function chatTypeOf(shape: KeyShape | undefined): SessionChatType | undefined {
  switch (shape?.kind) {
    case "main":
    case "dm":
      return "direct";
    case "group":
      return "group";
    case "channel":
      return "room";
    default:
      return undefined;
  }
}

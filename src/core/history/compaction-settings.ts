/** The settings of compaction and of the memory flush before it: how large a context may become, and what happens then. */

export interface CompactionSettings {
  /** Whether contexts are compacted automatically. A person can always ask for it. */
  readonly enabled: boolean;
  /** Room for the next turn; at least the floor, unless that is 0. */
  readonly reserveTokens: number;
  readonly reserveTokensFloor: number;
  /** How much of the end is kept word for word. */
  readonly keepRecentTokens: number;
  readonly emergencyContextLimit: number;
  readonly memoryFlush: MemoryFlushSettings;
}

export interface MemoryFlushSettings {
  readonly enabled: boolean;
  /** How many tokens before the compaction the flush comes. */
  readonly softThresholdTokens: number;
  readonly prompt: string;
  readonly systemPrompt: string;
}

/** The settings that apply to an agent now, with the window of the model that answers it. */
export interface ContextLimits extends CompactionSettings {
  readonly contextWindow: number;
}

/** The sizes in tokens at which something is done about a context. */
export interface Thresholds {
  /** Beyond this nothing is sent: the oldest turns are left out, or the run ends. Never above the window. */
  readonly emergency: number;
  /** Compacted before the next turn. */
  readonly critical: number;
  /** Compacted in the background, after the run. */
  readonly warning: number;
  /** The agent gets a turn to write down what matters, before the next compaction. */
  readonly flush: number;
  readonly reserve: number;
  readonly keepRecent: number;
}

export const DEFAULT_CONTEXT_WINDOW = 200_000;

/** A model with a smaller window gets a short prompt and the core tools. */
export const SMALL_WINDOW = 16_000;

export const DEFAULT_COMPACTION: CompactionSettings = {
  enabled: true,
  reserveTokens: 16_384,
  reserveTokensFloor: 20_000,
  keepRecentTokens: 20_000,
  emergencyContextLimit: 200_000,
  memoryFlush: {
    enabled: true,
    softThresholdTokens: 4_000,
    prompt: "Write any important context to memory files now. Respond with NO_REPLY.",
    systemPrompt: "You are about to run out of context. Persist important information.",
  },
};

export const DEFAULT_CONTEXT_LIMITS: ContextLimits = { ...DEFAULT_COMPACTION, contextWindow: DEFAULT_CONTEXT_WINDOW };

/** `summary`: by a model. The others need none: tool outputs cut, images left out, the oldest turns left out with a note. */
export const COMPACTION_KINDS = ["summary", "truncate", "images", "prune"] as const;
export type CompactionKind = (typeof COMPACTION_KINDS)[number];

/** Why: a person, the critical limit, a provider's refusal, the warning limit, the emergency limit. */
export const COMPACTION_REASONS = ["manual", "critical", "overflow", "background", "emergency"] as const;
export type CompactionReason = (typeof COMPACTION_REASONS)[number];

const WARNING_SHARE = 0.75;
const CRITICAL_SHARE = 0.9;
/** At most this share of a window is reserved, and of the limit kept. */
const MAX_RESERVED_SHARE = 0.25;

/**
 * Daycare's shares of an emergency limit and clawdbot's reserve for the next turn, as one set of thresholds. A small window
 * reserves and keeps less, so that there is always room for a conversation.
 */
export function contextThresholds(limits: ContextLimits): Thresholds {
  const window = Math.max(1, limits.contextWindow);
  const emergency = Math.max(1, Math.min(limits.emergencyContextLimit, window));
  const wanted = Math.max(limits.reserveTokens, limits.reserveTokensFloor);
  // A reserve above the default was asked for: it counts as long as a quarter of the window is left.
  const isAsked = limits.reserveTokens > DEFAULT_COMPACTION.reserveTokens;
  const reserve = Math.min(wanted, Math.floor(window * (isAsked ? 1 - MAX_RESERVED_SHARE : MAX_RESERVED_SHARE)));
  const share = Math.floor(emergency * WARNING_SHARE);
  const byShare = Math.max(share + 1, Math.floor(emergency * CRITICAL_SHARE));
  const critical = Math.max(1, Math.min(byShare, window - reserve, emergency));
  const warning = Math.max(0, Math.min(share, critical - 1));
  const soft = Math.min(limits.memoryFlush.softThresholdTokens, Math.floor(emergency * MAX_RESERVED_SHARE));
  return {
    emergency,
    critical,
    warning,
    flush: Math.max(0, Math.min(window - reserve, warning) - soft),
    reserve,
    keepRecent: Math.min(limits.keepRecentTokens, Math.floor(emergency * MAX_RESERVED_SHARE), Math.floor(critical / 2)),
  };
}

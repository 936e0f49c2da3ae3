/**
 * Daycare's shares of an emergency limit and clawdbot's reserve for the next turn, as one set of thresholds. A small window
 * reserves and keeps less, so that there is always room for a conversation.
 */
import { type ContextLimits, DEFAULT_COMPACTION, type Thresholds } from "../../core/history/compaction-settings.ts";

const WARNING_SHARE = 0.75;
const CRITICAL_SHARE = 0.9;
/** At most this share of a window is reserved, and of the limit kept. */
const MAX_RESERVED_SHARE = 0.25;

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

/**
 * When a context is too large: daycare's shares of an emergency limit and clawdbot's reserve for the next turn, as one set
 * of thresholds. A small window shrinks what is reserved and kept, so that there is always room for a conversation.
 */
import type { ContextLimits, Thresholds } from "../../../core/history/compaction-settings.ts";

const WARNING_SHARE = 0.75;
const CRITICAL_SHARE = 0.9;
/** At most this share of a window is reserved, and of the limit kept. */
const SMALL_SHARE = 0.25;

export function thresholdsOf(limits: ContextLimits): Thresholds {
  const window = Math.max(1, limits.contextWindow);
  const emergency = Math.max(1, Math.min(limits.emergencyContextLimit, window));
  const wanted = Math.max(limits.reserveTokens, limits.reserveTokensFloor);
  const reserve = Math.min(wanted, Math.floor(window * SMALL_SHARE));
  const share = Math.floor(emergency * WARNING_SHARE);
  const byShare = Math.max(share + 1, Math.floor(emergency * CRITICAL_SHARE));
  const critical = Math.max(1, Math.min(byShare, window - reserve, emergency));
  const warning = Math.max(0, Math.min(share, critical - 1));
  const soft = Math.min(limits.memoryFlush.softThresholdTokens, Math.floor(emergency * SMALL_SHARE));
  return {
    emergency,
    critical,
    warning,
    flush: Math.max(0, Math.min(window - reserve, warning) - soft),
    reserve,
    keepRecent: Math.min(limits.keepRecentTokens, Math.floor(emergency * SMALL_SHARE)),
  };
}

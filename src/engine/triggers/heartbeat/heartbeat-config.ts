/** The heartbeat's configuration: clawdbot's `HeartbeatConfig` with its defaults and texts, resolved per profile. */
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { DEFAULT_HEARTBEAT_ACK_MAX_CHARS } from "./strip-heartbeat-token.ts";

export interface HeartbeatConfig {
  /** A duration; without a unit, minutes. Nothing or zero turns it off. */
  readonly every?: string;
  readonly prompt?: string;
  /** "last" (default), "none", or "channel:id". */
  readonly target?: string;
  /** "main", or a session key. Absent: the heartbeat agent. */
  readonly session?: string;
  readonly model?: string;
  readonly ackMaxChars?: number;
  readonly includeReasoning?: boolean;
  readonly activeHours?: {
    readonly start?: string;
    readonly end?: string;
    readonly timezone?: string;
  };
  readonly dollarsPerDay?: number;
}

export interface HeartbeatSummary {
  readonly enabled: boolean;
  readonly every: string;
  readonly everyMs: number | null;
  readonly prompt: string;
  readonly target: string;
  readonly model?: string;
  readonly ackMaxChars: number;
}

export const HEARTBEAT_PROMPT =
  "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. " +
  "Do not infer or repeat old tasks from prior chats. " +
  "If nothing needs attention, reply HEARTBEAT_OK.";
export const DEFAULT_HEARTBEAT_EVERY = "30m";
const DEFAULT_HEARTBEAT_TARGET = "last";

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** "30m", "1.5h", "45" (minutes). Null for zero and for anything that is not a duration. */
export function parseHeartbeatEvery(every: string): number | null {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/u.exec(every.trim().toLowerCase());
  if (!found) return null;
  const ms = Math.round(Number(found[1]) * (UNITS[found[2] ?? "m"] as number));
  return ms > 0 && Number.isSafeInteger(ms) ? ms : null;
}

/** The parts of the configuration that concern heartbeats. */
export interface HeartbeatSections {
  readonly heartbeat: HeartbeatConfig;
  readonly profiles: Readonly<Record<string, { readonly heartbeat?: HeartbeatConfig | undefined }>>;
  /** The person's zone, for active hours, and the key of main conversations. */
  readonly session?: { readonly timeZone?: string; readonly mainKey?: string };
}

/** The profiles with a heartbeat: those that configure one, otherwise only the default profile. */
export function heartbeatProfiles({ profiles }: HeartbeatSections): readonly string[] {
  const own = Object.keys(profiles).filter((name) => profiles[name]?.heartbeat !== undefined);
  return own.length > 0 ? own : [DEFAULT_PROFILE];
}

/** A profile's own keys override the common ones. */
export const heartbeatConfigOf = ({ heartbeat, profiles }: HeartbeatSections, profile: string): HeartbeatConfig => ({
  ...heartbeat,
  ...profiles[profile]?.heartbeat,
});

export function resolveHeartbeatSummary(config: HeartbeatSections, profile: string): HeartbeatSummary {
  const own = heartbeatConfigOf(config, profile);
  const every = own.every ?? DEFAULT_HEARTBEAT_EVERY;
  const everyMs = heartbeatProfiles(config).includes(profile) ? parseHeartbeatEvery(every) : null;
  return {
    enabled: everyMs !== null,
    every: everyMs === null ? "disabled" : every,
    everyMs,
    prompt: own.prompt ?? HEARTBEAT_PROMPT,
    target: own.target ?? DEFAULT_HEARTBEAT_TARGET,
    model: own.model,
    ackMaxChars: own.ackMaxChars ?? DEFAULT_HEARTBEAT_ACK_MAX_CHARS,
  };
}

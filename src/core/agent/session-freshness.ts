/**
 * When a session ends automatically: at an hour of the day, after a time without messages, or both, at the earlier time. Only
 * messages of a person count as activity. Pure: time and zone are arguments. Checked when the next message is taken.
 */

import { zonedFields, zonedInstant } from "../zoned-time.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import { resolveThreadParentSessionKey } from "./session-key.ts";

/** The words that begin a new session, if the configuration names none. */
export const DEFAULT_RESET_TRIGGERS: readonly string[] = ["/new", "/reset"];

export const RESET_MODES = ["daily", "idle", "both", "off"] as const;
export type ResetMode = (typeof RESET_MODES)[number];
export type ChatKind = "dm" | "group" | "thread";

/** The reset settings of one level. A missing field comes from the level above. */
export interface ResetSettings {
  readonly mode?: ResetMode;
  /** 0 to 23. */
  readonly atHour?: number;
  /** Together with `daily` it also enables the idle reset. */
  readonly idleMinutes?: number;
}

export interface ResetConfig extends ResetSettings {
  /** Overrides the general settings by kind of conversation. */
  readonly byType?: Readonly<Partial<Record<ChatKind, ResetSettings>>>;
  /** Replaces all other settings, by channel. */
  readonly byChannel?: Readonly<Record<string, ResetSettings>>;
}

/** The policy of one conversation. Without both parts its session never ends automatically. */
export interface ResetPolicy {
  readonly daily?: { readonly atHour: number };
  readonly idle?: { readonly minutes: number };
}

export const DEFAULT_RESET_HOUR = 4;
const DEFAULT_IDLE_MINUTES = 60;

/** The kind of a conversation, by its agent's descriptor and key. */
export function chatKindOf(descriptor: AgentDescriptor, sessionKey: string): ChatKind {
  const user = descriptor.type === "user" ? descriptor : undefined;
  if (user?.threadId !== undefined || resolveThreadParentSessionKey(sessionKey) !== null) return "thread";
  const isGroup = user?.peerKind === "group" || user?.peerKind === "channel" || /:(?:group|channel):/i.test(sessionKey);
  return isGroup ? "group" : "dm";
}

/** The policy of an agent. Only conversations with people have one. */
export function resetPolicyFor(
  agent: { readonly descriptor: AgentDescriptor; readonly sessionKey: string },
  config: ResetConfig = {},
): ResetPolicy {
  const { descriptor, sessionKey } = agent;
  if (descriptor.type !== "user") return {};
  const channel = descriptor.connector.trim().toLowerCase();
  const ofChannel = Object.entries(config.byChannel ?? {}).find(([name]) => name.trim().toLowerCase() === channel);
  if (ofChannel) return policyOf(ofChannel[1]);
  const { mode, atHour, idleMinutes } = config;
  return policyOf({ mode, atHour, idleMinutes }, config.byType?.[chatKindOf(descriptor, sessionKey)]);
}

function policyOf(base: ResetSettings, over: ResetSettings = {}): ResetPolicy {
  const mode = over.mode ?? base.mode ?? "daily";
  if (mode === "off") return {};
  const minutes = over.idleMinutes ?? base.idleMinutes;
  // A mode on this level is complete: minutes from the level above do not enable the idle reset.
  const armed = over.mode === undefined ? minutes !== undefined : over.idleMinutes !== undefined;
  const isIdle = mode === "idle" || mode === "both" || armed;
  return {
    daily: mode === "idle" ? undefined : { atHour: hourOf(over.atHour ?? base.atHour) },
    idle: isIdle ? { minutes: minutesOf(minutes) } : undefined,
  };
}

const hourOf = (hour: number | undefined): number =>
  hour === undefined || !Number.isFinite(hour) ? DEFAULT_RESET_HOUR : Math.min(23, Math.max(0, Math.floor(hour)));

const minutesOf = (minutes: number | undefined): number =>
  minutes === undefined || !Number.isFinite(minutes) ? DEFAULT_IDLE_MINUTES : Math.max(1, Math.floor(minutes));

/**
 * The limit a session has passed, the earlier one if it passed both; undefined while it is fresh. `lastHumanAt`: when a
 * person last wrote. Without such a message the session is fresh.
 */
export function staleBy(
  policy: ResetPolicy,
  lastHumanAt: number | undefined,
  now: number,
  zone: string,
): "daily" | "idle" | undefined {
  if (lastHumanAt === undefined) return undefined;
  const idleSince = policy.idle ? lastHumanAt + policy.idle.minutes * 60_000 : Number.POSITIVE_INFINITY;
  const boundary = policy.daily ? nextBoundary(policy.daily.atHour, lastHumanAt, zone) : Number.POSITIVE_INFINITY;
  const isIdle = now > idleSince;
  const isOver = now >= boundary;
  if (!isIdle && !isOver) return undefined;
  return boundary <= idleSince ? "daily" : "idle";
}

/** Whether a new session begins with the next message. */
export const isStale = (policy: ResetPolicy, lastHumanAt: number | undefined, now: number, zone: string): boolean =>
  staleBy(policy, lastHumanAt, now, zone) !== undefined;

/** There is no other boundary between `from` and `boundary`, so the last result serves all messages of a day. */
const lastAsked = new Map<string, { readonly from: number; readonly boundary: number }>();

/** The first instant after `from` at which clocks in the zone show the hour. At the hour itself the new day has begun. */
function nextBoundary(hour: number, after: number, zone: string): number {
  const asked = `${hour} ${zone}`;
  const last = lastAsked.get(asked);
  if (last && last.from <= after && after < last.boundary) return last.boundary;
  const boundary = boundaryAfter(hour, after, zone);
  lastAsked.set(asked, { from: after, boundary });
  return boundary;
}

function boundaryAfter(hour: number, after: number, zone: string): number {
  const { year, month, day } = zonedFields(after, zone);
  // A zone may skip a day or repeat an hour, so the next boundary may be later than tomorrow.
  for (let ahead = 0; ; ahead++) {
    const boundary = zonedInstant(year, month, day + ahead, hour, zone);
    if (boundary > after) return boundary;
  }
}

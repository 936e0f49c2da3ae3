/**
 * When a conversation begins anew by itself: at an hour of the day, after a time of silence, or both, whichever comes first.
 * Only a person's messages are activity. Pure: the time and the zone are arguments; asked when the next message is taken.
 */

import { zonedFields, zonedInstant } from "../zoned-time.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import { resolveThreadParentSessionKey } from "./session-key.ts";

export const RESET_MODES = ["daily", "idle", "both", "off"] as const;
export type ResetMode = (typeof RESET_MODES)[number];
export type ChatKind = "dm" | "group" | "thread";

/** What is said about resets in one place. What is left out is taken from the place around it. */
export interface ResetSettings {
  readonly mode?: ResetMode;
  /** 0 to 23. */
  readonly atHour?: number;
  /** Said beside `daily`, it arms the idle reset too. */
  readonly idleMinutes?: number;
}

export interface ResetConfig extends ResetSettings {
  /** Over what is said in general. */
  readonly byType?: Readonly<Partial<Record<ChatKind, ResetSettings>>>;
  /** In the place of everything else that is said. */
  readonly byChannel?: Readonly<Record<string, ResetSettings>>;
}

/** What holds for one conversation. Neither part: it never begins anew by itself. */
export interface ResetPolicy {
  readonly daily?: { readonly atHour: number };
  readonly idle?: { readonly minutes: number };
}

export const DEFAULT_RESET_HOUR = 4;
export const DEFAULT_IDLE_MINUTES = 60;

/** Which of the three kinds a conversation is, by what its agent is and by its key. */
export function chatKindOf(descriptor: AgentDescriptor, sessionKey: string): ChatKind {
  const user = descriptor.type === "user" ? descriptor : undefined;
  if (user?.threadId !== undefined || resolveThreadParentSessionKey(sessionKey) !== null) return "thread";
  const isGroup = user?.peerKind === "group" || user?.peerKind === "channel" || /:(?:group|channel):/i.test(sessionKey);
  return isGroup ? "group" : "dm";
}

/** The policy of an agent. Only people's conversations have one: the others end with their work. */
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
  // A mode chosen here speaks for itself: minutes said elsewhere do not arm what it does not name.
  const armed = over.mode === undefined ? minutes !== undefined : over.idleMinutes !== undefined;
  const isIdle = mode === "idle" || mode === "both" || armed;
  return {
    ...(mode === "idle" ? {} : { daily: { atHour: hourOf(over.atHour ?? base.atHour) } }),
    ...(isIdle ? { idle: { minutes: minutesOf(minutes) } } : {}),
  };
}

const hourOf = (hour: number | undefined): number =>
  hour === undefined || !Number.isFinite(hour) ? DEFAULT_RESET_HOUR : Math.min(23, Math.max(0, Math.floor(hour)));

const minutesOf = (minutes: number | undefined): number =>
  minutes === undefined || !Number.isFinite(minutes) ? DEFAULT_IDLE_MINUTES : Math.max(1, Math.floor(minutes));

/**
 * Which of its limits a conversation has passed, the earlier one where it passed both; undefined while it is fresh.
 * `lastHumanAt` is when a person last wrote; where nobody ever did, there is nothing to begin anew.
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
  if (isIdle && isOver) return boundary <= idleSince ? "daily" : "idle";
  if (isOver) return "daily";
  return isIdle ? "idle" : undefined;
}

/** Whether a conversation begins anew with the next message. */
export const isStale = (policy: ResetPolicy, lastHumanAt: number | undefined, now: number, zone: string): boolean =>
  staleBy(policy, lastHumanAt, now, zone) !== undefined;

/** Between `from` and `boundary` there is no other one: what was worked out last answers for all messages of a day. */
const lastAsked = new Map<string, { readonly from: number; readonly boundary: number }>();

/** The first time after an instant that clocks in the zone show the hour. At the hour itself a new day has begun. */
export function nextBoundary(hour: number, after: number, zone: string): number {
  const asked = `${hour} ${zone}`;
  const last = lastAsked.get(asked);
  if (last && last.from <= after && after < last.boundary) return last.boundary;
  const boundary = boundaryAfter(hour, after, zone);
  lastAsked.set(asked, { from: after, boundary });
  return boundary;
}

function boundaryAfter(hour: number, after: number, zone: string): number {
  const { year, month, day } = zonedFields(after, zone);
  // Days that a zone leaves out, and hours that come twice, make the next one lie further than tomorrow at times.
  for (let ahead = 0; ; ahead++) {
    const boundary = zonedInstant(year, month, day + ahead, hour, zone);
    if (boundary > after) return boundary;
  }
}

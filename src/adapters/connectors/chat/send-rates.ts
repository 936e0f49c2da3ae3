/**
 * The rates of a channel: in a chat, in a group, and in all. A send asks for its place before its delivery is marked `sending`, and passes
 * the gate right before the call, because a commit in between may take long. Nothing is sent at first: a process that was killed may have
 * sent right before.
 */
import type { Clock } from "../../../core/ports/clock.ts";
import { sleep } from "../../../core/ports/clock.ts";

export interface RateLimits {
  readonly perChatMs: number;
  readonly groupPerMinute: number;
  readonly perSecond: number;
  isGroup(chat: string): boolean;
}

/** Calls under way at once. If the network stands still for a moment, no more than these arrive together after it. */
const AT_ONCE = 6;

/** How long a place is kept for a target that does not come for it. */
const KEPT_MS = 10_000;
const SECOND_MS = 1_050;
const MINUTE_MS = 60_000;
const MAX_CHATS = 20_000;

export interface SendRates {
  /** Milliseconds until this target may send; 0: it may now. */
  admit(target: string, chat: string): number;
  /** Makes a call when it keeps every rate, at once after `admit` in almost all cases. */
  paced<T>(chat: string, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T>;
  /** The server asked for a pause, in this chat or in all. */
  pause(ms: number, chat?: string): void;
}

interface Chat {
  /** When the last message was, or will be, sent there. */
  last: number;
  /** When the last call was made. */
  called: number;
  /** The messages of the last minute, in groups. */
  recent: number[];
  pausedUntil: number;
}

export function sendRates(clock: Clock, limits: RateLimits): SendRates {
  const now = (): number => clock.monotonic();
  const { perChatMs, groupPerMinute, perSecond } = limits;
  const chats = new Map<string, Chat>();
  /** When each target that waits may send. */
  const places = new Map<string, number>();
  /** The last calls to all chats. */
  const calls: number[] = [];
  const gap = SECOND_MS / perSecond;
  let next = Number.NEGATIVE_INFINITY;
  let pausedUntil = now() + perChatMs;

  const chatOf = (id: string): Chat => {
    const known = chats.get(id);
    if (known) return known;
    if (chats.size >= MAX_CHATS) dropIdle(chats, now() - MINUTE_MS);
    const long = Number.NEGATIVE_INFINITY;
    const chat = { last: long, called: long, recent: [], pausedUntil: long };
    chats.set(id, chat);
    return chat;
  };
  const pauseOf = (chat: Chat): number => Math.max(pausedUntil, chat.pausedUntil);
  /** When the chat itself may have its next message. */
  const earliest = (id: string, chat: Chat): number => {
    const ofMinute = limits.isGroup(id) ? chat.recent.at(-groupPerMinute) : undefined;
    return Math.max(
      chat.last + perChatMs,
      pauseOf(chat),
      ofMinute === undefined ? Number.NEGATIVE_INFINITY : ofMinute + MINUTE_MS,
    );
  };

  /** 0: the call is counted and may be made now; else how long to wait. */
  const passGate = (id: string, isAborted: boolean): number => {
    const time = now();
    const chat = chatOf(id);
    const ofSecond = calls.at(-perSecond);
    const at = Math.max(chat.called + perChatMs, ofSecond === undefined ? time : ofSecond + SECOND_MS, pauseOf(chat));
    if (at > time && !isAborted) return Math.ceil(at - time);
    chat.called = time;
    chat.last = Math.max(chat.last, time);
    calls.push(time);
    if (calls.length > 2 * perSecond) calls.splice(0, calls.length - perSecond);
    return 0;
  };
  let underWay = 0;
  const waiting: (() => void)[] = [];
  const leave = (): void => {
    underWay -= 1;
    waiting.shift()?.();
  };

  return {
    admit(target, id) {
      const time = now();
      const chat = chatOf(id);
      const place = places.get(target);
      if (place !== undefined && time < place) return Math.ceil(place - time);
      if (place !== undefined) {
        places.delete(target);
        const paused = pauseOf(chat) - time;
        if (paused > 0) return Math.ceil(paused);
        if (time - place < KEPT_MS) return 0;
      }
      const wait = earliest(id, chat) - time;
      if (wait > 0) return Math.ceil(wait);
      const at = Math.max(time, next);
      next = at + gap;
      chat.last = at;
      if (limits.isGroup(id)) chat.recent = [...chat.recent.slice(1 - groupPerMinute), at];
      if (at <= time) return 0;
      places.set(target, at);
      return Math.ceil(at - time);
    },
    async paced(id, signal, call) {
      for (;;) {
        while (underWay >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
        underWay += 1;
        const wait = passGate(id, signal?.aborted ?? false);
        if (wait === 0) break;
        // A chat that has to wait holds up no other one.
        leave();
        await sleep(clock, wait, signal);
      }
      try {
        return await call();
      } finally {
        leave();
      }
    },
    pause(ms, id) {
      const until = now() + ms;
      if (id === undefined) pausedUntil = Math.max(pausedUntil, until);
      else {
        const chat = chatOf(id);
        chat.pausedUntil = Math.max(chat.pausedUntil, until);
      }
    },
  };
}

function dropIdle(chats: Map<string, Chat>, before: number): void {
  for (const [id, { last, pausedUntil }] of chats) if (Math.max(last, pausedUntil) < before) chats.delete(id);
}

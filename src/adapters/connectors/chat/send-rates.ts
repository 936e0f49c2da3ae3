/**
 * The rates of a channel: in a chat, in a group, and in all. A send asks for its place before its delivery is marked `sending`, and passes
 * the gate right before the call, because a commit in between may take long. Nothing is sent at first: a process that was killed may have
 * sent right before. What a group gets is noted before it is sent: its count of a minute is known after a kill.
 */
import type { Clock } from "../../../core/ports/clock.ts";
import { sleep } from "../../../core/ports/clock.ts";

export interface RateLimits {
  readonly perChatMs: number;
  readonly groupPerMinute: number;
  readonly perSecond: number;
  isGroup(chat: string): boolean;
  /** Keeps what groups got. Absent: a restart forgets it. */
  readonly notes?: RateNotes;
}

/** When messages went to each group within the last minute, in wall time. */
export type NotedSends = Readonly<Record<string, readonly number[]>>;

export interface RateNotes {
  /** Durable when it resolves. Never rejects. */
  write(noted: NotedSends): Promise<void>;
}

/** Calls under way at once. If the network stands still for a moment, no more than these arrive together after it. */
const AT_ONCE = 6;

/** How long a place is kept for a target that does not come for it. */
const KEPT_MS = 10_000;
const SECOND_MS = 1_050;
const MINUTE_MS = 60_000;
const MAX_CHATS = 20_000;
/** Groups that are noted, the busiest first. Within a minute no more can have got three messages. */
const MAX_NOTED = 500;

export interface SendRates {
  /** Milliseconds until this target may send; 0: it may now. */
  admit(target: string, chat: string): number;
  /** Makes a call when it keeps every rate, at once after `admit` in almost all cases. */
  paced<T>(chat: string, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T>;
  /** The server asked for a pause, in this chat or in all. */
  pause(ms: number, chat?: string): void;
  /** What an earlier process noted. Before the first send. */
  restore(noted: NotedSends): void;
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
  /** The calls of the last minute to each group. */
  const toGroups = new Map<string, readonly number[]>();
  const gap = SECOND_MS / perSecond;
  let next = Number.NEGATIVE_INFINITY;
  let pausedUntil = now() + perChatMs;

  const chatOf = (id: string, noted: readonly number[] = []): Chat => {
    const known = chats.get(id);
    if (known) return known;
    if (chats.size >= MAX_CHATS) dropIdle(chats, now() - MINUTE_MS);
    const long = Number.NEGATIVE_INFINITY;
    const chat = { last: long, called: long, recent: [...noted], pausedUntil: long };
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

  const gateWait = (id: string): number => {
    const chat = chatOf(id);
    const ofSecond = calls.at(-perSecond);
    const at = Math.max(chat.called + perChatMs, ofSecond === undefined ? 0 : ofSecond + SECOND_MS, pauseOf(chat));
    return Math.max(0, Math.ceil(at - now()));
  };
  /** 0: the call is counted and may be made now; else how long to wait. */
  const passGate = (id: string, isAborted: boolean): number => {
    const wait = isAborted ? 0 : gateWait(id);
    if (wait > 0) return wait;
    const chat = chatOf(id);
    chat.called = now();
    chat.last = Math.max(chat.last, chat.called);
    calls.push(chat.called);
    if (calls.length > 2 * perSecond) calls.splice(0, calls.length - perSecond);
    return 0;
  };
  /** A call to a group is about to be made. Resolves when that is durable. */
  const noting = async (id: string): Promise<void> => {
    if (!limits.notes || !limits.isGroup(id)) return;
    const time = now();
    toGroups.set(id, [...(toGroups.get(id) ?? []), time]);
    for (const [group, times] of toGroups) {
      const left = withinMinute(times, time);
      if (left.length > 0) toGroups.set(group, left);
      else toGroups.delete(group);
    }
    const busiest = [...toGroups].sort(([, a], [, b]) => b.length - a.length).slice(0, MAX_NOTED);
    const wall = clock.now() - time;
    await limits.notes.write(
      Object.fromEntries(busiest.map(([group, times]) => [group, times.map((at) => Math.round(at + wall))])),
    );
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
      let isNoted = false;
      for (;;) {
        while (underWay >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
        underWay += 1;
        // Before the gate: a commit that takes long must not bring two calls together.
        if (!isNoted && (signal?.aborted || gateWait(id) === 0)) {
          isNoted = true;
          await noting(id);
        }
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
    restore(noted) {
      for (const [id, times] of Object.entries(noted)) {
        const known = earlier(times, clock);
        if (known.length === 0 || !limits.isGroup(id)) continue;
        chatOf(id, known);
        toGroups.set(id, known);
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

const withinMinute = (times: readonly number[], now: number): number[] => times.filter((at) => now - at < MINUTE_MS);

/** Times of an earlier process on the clock of this one. The wall clock may have been set since: none is later than now. */
function earlier(times: readonly number[], clock: Clock): readonly number[] {
  const now = clock.monotonic();
  const ago = clock.now() - now;
  return withinMinute(
    times.map((at) => Math.min(at - ago, now)),
    now,
  ).sort((a, b) => a - b);
}

function dropIdle(chats: Map<string, Chat>, before: number): void {
  for (const [id, { last, pausedUntil }] of chats) if (Math.max(last, pausedUntil) < before) chats.delete(id);
}

/**
 * The queue's decisions as pure functions of settings, waiting messages and the run's state. Only the agent's owner decides,
 * when it takes messages and between steps, never when a message is accepted (M1). A dropped message leaves a trace (L1).
 */
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import {
  countsTowardsCap,
  isLateYes,
  isSilent,
  type Message,
  messageText,
  overridesOf,
  saysNothing,
} from "../../core/message/message.ts";
import { type QueueDedupeMode, type QueueSettings, UNCAPPED } from "../../core/message/queue.ts";
import type { PersonId } from "../../core/people/person.ts";

/** A message with the settings that apply to it now. */
export interface Waiting {
  readonly message: Message;
  readonly settings: Required<QueueSettings>;
}

interface Dropped {
  readonly message: Message;
  /** The name of the policy, kept as a trace. */
  readonly policy: string;
}

export type Choice =
  | { readonly act: "rest" }
  /** Nothing yet: the debounce time is not over. `retry`: a message rests after a failed try (M48). */
  | { readonly act: "wait"; readonly until: number; readonly retry?: true }
  /** Goes before all other messages (M10). */
  | { readonly act: "reset"; readonly message: Message }
  /** The run that the stop is about has ended; the person gets an answer. */
  | { readonly act: "stop"; readonly message: Message }
  /** Silent messages are recorded and wake no agent (M4). */
  | { readonly act: "record"; readonly messages: readonly Message[] }
  /** A command to the engine that needs no run. */
  | { readonly act: "settle"; readonly message: Message; readonly reason: string }
  /** `collected`: as one prompt. `summarize`: dropped messages that leave a line in it. */
  | {
      readonly act: "run";
      readonly messages: readonly Message[];
      readonly collected: boolean;
      /** Parts of what one person said at once: one prompt, as if it had been one message. */
      readonly joined?: true;
      readonly dropped: readonly Dropped[];
      readonly summarize: readonly Message[];
      readonly cap: number;
    };

/** The reason of a message without text or files, which gets no run. */
const SAYS_NOTHING = "it says nothing";

/** A message and the person it is for. One that names no one is for the agent's own person. */
const isFor = (message: Message, person: PersonId | undefined, own: PersonId | undefined): boolean =>
  (message.behalf?.person ?? own) === person;

interface RestingAgent {
  /** The person the agent belongs to. */
  readonly own?: PersonId;
  readonly now: number;
  /** All waiting messages in order; or the first ones, if none can be dropped. */
  readonly waiting: readonly Waiting[];
  /** Waiting messages that overtake. */
  readonly urgent: readonly Message[];
  /** When the last run ended: a message that came before had to wait for it. Undefined if there was no run. */
  readonly busyUntil?: number;
  readonly dedupe: QueueDedupeMode;
}

/** Decides what an agent at rest does next. */
export function choose({ own, now, waiting, urgent, busyUntil, dedupe }: RestingAgent): Choice {
  const overtaking = urgent.filter(({ body }) => body.kind === "stop" || body.kind === "reset");
  const ready = overtaking.filter((message) => restsUntil(message) <= now);
  const stop = ready.find(({ body }) => body.kind === "stop");
  if (stop) return { act: "stop", message: stop };
  const reset = ready[0];
  if (reset) return { act: "reset", message: reset };
  const first = waiting[0];
  if (!first) return { act: "rest" };
  // A message that is tried again holds the later ones back, which keep their order (L2).
  const resting = overtaking[0] ?? first.message;
  if (restsUntil(resting) > now) return { act: "wait", until: restsUntil(resting), retry: true };
  const command = withoutRun(waiting);
  if (command) return command;

  // Repetitions and the cap count for each person alone: no one's messages push out another's, nor are they read together.
  const runnable = waiting.filter(({ message }) => isRunnable(message));
  const limited = byPerson(runnable, own).map((of) => limit(of, dedupe));
  const kept = limited.flatMap((one) => one.kept).sort((a, b) => a.message.seq - b.message.seq);
  const run = (messages: readonly Waiting[], collected: boolean, joined?: true): Choice => ({
    act: "run",
    messages: messages.map(({ message }) => message),
    collected,
    joined,
    ...droppedBeside(limited, messages[0] as Waiting),
  });
  // A report or a trigger never interrupts.
  const interrupting = kept.find(
    ({ message, settings }) => settings.mode === "interrupt" && mayInterrupt(message) && restsUntil(message) <= now,
  );
  if (interrupting) return run([interrupting], false);
  const next = kept[0] as Waiting;
  const waited = busyUntil !== undefined && next.message.acceptedAt <= busyUntil;
  const burst = waited && next.settings.mode === "collect" ? undefined : burstFrom(waiting, kept, next, own);
  if (burst) {
    if (burst.readyAt > now) return { act: "wait", until: burst.readyAt };
    if (burst.parts.length > 1) return run(burst.parts, false, true);
  }
  switch (next.settings.mode) {
    case "collect": {
      const group = together(kept, next, own);
      if (!isCollectable(next)) return run([next], false);
      const until = waited ? readyAt(group) : now;
      return until > now ? { act: "wait", until } : run(inOnePrompt(group), waited || group.length > 1);
    }
    case "followup":
    case "steer-backlog": {
      const until = waited ? readyAt(kept) : now;
      return until > now ? { act: "wait", until } : run([next], false);
    }
    case "queue":
    case "steer":
    case "interrupt":
      return run([next], false);
  }
}

/** When a message is tried again after a failure. */
export const restsUntil = ({ tried }: Message): number => tried?.nextAt ?? 0;

/** The messages of one route for one person, up to the first one of that route for someone else (L2, M30). */
function together(kept: readonly Waiting[], next: Waiting, own: PersonId | undefined): readonly Waiting[] {
  const person = next.message.behalf?.person ?? own;
  const ofRoute = kept.filter(
    (one) => isCollectable(one) && routeKey(one.message.delivery) === routeKey(next.message.delivery),
  );
  const other = ofRoute.findIndex(({ message }) => !isFor(message, person, own));
  return other === -1 ? ofRoute : ofRoute.slice(0, other);
}

/** How long after a part another one may come, and the limits of one burst. */
const BURST_MS = 300;
const LONG_PART_MS = 1_500;
const LONG_PART = 4_000;
const BURST_MESSAGES = 12;
const BURST_CHARACTERS = 50_000;
const LONGEST_BURST_MS = 7_500;

const isBurst = ({ message: { body } }: Waiting): boolean => body.kind === "user" && body.burst !== undefined;

/**
 * The messages that one person has sent at once, from the first one on. They are joined after they are stored, so a crash changes
 * nothing but how many there are. Any other message ends the burst: commands and other people do not wait for it.
 */
function burstFrom(
  waiting: readonly Waiting[],
  kept: readonly Waiting[],
  next: Waiting,
  own: PersonId | undefined,
): { readonly parts: readonly Waiting[]; readonly readyAt: number } {
  const person = next.message.behalf?.person ?? own;
  const rest = waiting.slice(waiting.indexOf(next));
  let length = 0;
  const end = rest.findIndex((one, index) => {
    length += messageText(one.message.body).length;
    const joins =
      isBurst(one) &&
      kept.includes(one) &&
      !runsAlone(one.message) &&
      isFor(one.message, person, own) &&
      routeKey(one.message.delivery) === routeKey(next.message.delivery);
    return !joins || index >= BURST_MESSAGES || (length > BURST_CHARACTERS && index > 0);
  });
  const parts = end === -1 ? rest : rest.slice(0, end);
  const last = parts.at(-1);
  if (!last || end !== -1) return { parts, readyAt: 0 };
  const { body } = last.message;
  const isLong = (body.kind === "user" && body.burst === "album") || messageText(body).length >= LONG_PART;
  const quiet = last.message.acceptedAt + (isLong ? LONG_PART_MS : BURST_MS);
  return { parts, readyAt: Math.min(quiet, next.message.acceptedAt + LONGEST_BURST_MS) };
}

/** Almost always one group: nothing is sorted then. */
function byPerson(waiting: readonly Waiting[], own: PersonId | undefined): readonly (readonly Waiting[])[] {
  const groups = new Map<PersonId | undefined, Waiting[]>();
  for (const one of waiting) {
    const person = one.message.behalf?.person ?? own;
    const group = groups.get(person);
    if (group) group.push(one);
    else groups.set(person, [one]);
  }
  return [...groups.values()];
}

/** The messages that are dropped with a run: those of the same person. Those of others are dropped with a run of theirs. */
function droppedBeside(limited: readonly Limited[], next: Waiting): Omit<Limited, "kept"> {
  const { kept: _, ...rest } = limited.find(({ kept }) => kept.includes(next)) as Limited;
  return rest;
}

/** What to do with the first message if it needs no normal run. */
function withoutRun(waiting: readonly Waiting[]): Choice | undefined {
  const message = waiting[0]?.message;
  switch (message?.body.kind) {
    case "user":
      return saysNothing(message) ? { act: "settle", message, reason: SAYS_NOTHING } : undefined;
    case "system":
    case "report": {
      if (!isSilent(message.body)) return undefined;
      const end = waiting.findIndex(
        ({ message: one }, index) => !isSilent(one.body) || (index > 0 && (message.tried ?? one.tried) !== undefined),
      );
      const silent = end === -1 ? waiting : waiting.slice(0, end);
      return { act: "record", messages: silent.map((one) => one.message) };
    }
    case "permission":
      // The agent gets a yes that came late; any other end is only recorded.
      return isLateYes(message.body) ? undefined : { act: "record", messages: [message] };
    case "restore":
      return { act: "settle", message, reason: "context rebuilt" };
    case "compact":
      // A compaction is a run: it calls a model, can be stopped, and resumes after a crash.
      return { act: "run", messages: [message], collected: false, dropped: [], summarize: [], cap: 1 };
    case "describe":
      return { act: "settle", message, reason: "description updated" };
    case "setting":
      return { act: "settle", message, reason: "settings changed" };
    case "branch":
      return { act: "settle", message, reason: "went back" };
    case "subagents":
      return { act: "settle", message, reason: "answered about children" };
    case "command":
      return { act: "settle", message, reason: "answered" };
    case "reset":
      return { act: "reset", message };
    case "stop":
      return { act: "stop", message };
    case "trigger":
      return undefined;
    default:
      // A kind of a later version: this one can only record it.
      return message && { act: "settle", message, reason: "its kind is not known here" };
  }
}

const mayInterrupt = ({ body }: Message): boolean =>
  body.kind !== "report" && body.kind !== "trigger" && body.kind !== "permission";

const isRunnable = (message: Message): boolean => !saysNothing(message) && needsRun(message);

const needsRun = ({ body }: Message): boolean =>
  !isSilent(body) &&
  (body.kind === "user" ||
    body.kind === "report" ||
    body.kind === "trigger" ||
    body.kind === "system" ||
    isLateYes(body));

/**
 * A trigger runs alone because its own run closes its slot (M22). So does a message with overrides for its run, one whose
 * run id was promised, and one whose handling has failed (M48).
 */
const runsAlone = ({ body, asRun, tried }: Message): boolean =>
  body.kind === "trigger" ||
  body.kind === "permission" ||
  overridesOf(body) !== undefined ||
  asRun !== undefined ||
  tried !== undefined;

const isCollectable = ({ message, settings }: Waiting): boolean => settings.mode === "collect" && !runsAlone(message);

/**
 * How many characters become one prompt. Reports have no cap, and a prompt larger than the context would be cut without a
 * trace. The rest becomes the next prompt.
 */
const MAX_COLLECTED = 100_000;

function inOnePrompt(group: readonly Waiting[]): readonly Waiting[] {
  let length = 0;
  const over = group.findIndex(({ message }) => {
    length += messageText(message.body).length;
    return length > MAX_COLLECTED;
  });
  return over === -1 ? group : group.slice(0, Math.max(1, over));
}

/** Where an answer goes, as text. String and numeric thread ids are equal. A message without a delivery has a route too. */
export function routeKey({ threadId, ...address }: DeliveryContext = {}): string {
  return targetKey({ ...address, threadId: threadId === undefined ? undefined : String(threadId) });
}

/** Ready when no message came for the debounce time, at the latest after ten times that (M14). */
function readyAt(group: readonly Waiting[]): number {
  const first = group[0] as Waiting;
  const last = group.at(-1) ?? first;
  const { debounceMs } = last.settings;
  return Math.min(last.message.acceptedAt + debounceMs, first.message.acceptedAt + 10 * debounceMs);
}

interface Limited {
  readonly kept: readonly Waiting[];
  readonly dropped: readonly Dropped[];
  readonly summarize: readonly Message[];
  /** The cap of the newest message that counts. */
  readonly cap: number;
}

/** Drops repeated messages, then those above the cap. `kept` is never empty if a message waits. */
function limit(waiting: readonly Waiting[], dedupe: QueueDedupeMode): Limited {
  const dropped: Dropped[] = [];
  const seen = new Set<string>();
  const once = waiting.filter(({ message }) => {
    const key = sameness(message, dedupe);
    if (key === undefined || !seen.has(key)) {
      if (key !== undefined) seen.add(key);
      return true;
    }
    dropped.push({ message, policy: `duplicate (${dedupe})` });
    return false;
  });
  // Messages of programs have no cap: they push out no one's message, and no one's pushes them out (M18a). A message whose
  // handling has failed ends by itself.
  const counted = once.filter(
    ({ message, settings }) => countsTowardsCap(message) && settings.cap < UNCAPPED && message.tried === undefined,
  );
  const last = counted.at(-1);
  if (!last) return { kept: once, dropped, summarize: [], cap: UNCAPPED };
  const { cap, dropPolicy } = last.settings;
  const surplus = new Set(dropPolicy === "new" ? counted.slice(cap) : counted.slice(0, -cap));
  for (const { message } of surplus) dropped.push({ message, policy: `cap ${cap} (${dropPolicy})` });
  const summarize = dropPolicy === "summarize" ? [...surplus].map(({ message }) => message) : [];
  return { kept: once.filter((one) => !surplus.has(one)), dropped, summarize, cap };
}

/** The key under which two waiting messages are the same. An edit is another message. */
function sameness(message: Message, dedupe: QueueDedupeMode): string | undefined {
  const id = message.source?.messageId?.trim();
  if (dedupe === "none" || !countsTowardsCap(message)) return undefined;
  if (dedupe === "message-id")
    return id ? JSON.stringify([routeKey(message.delivery), id, message.source?.revision ?? 0]) : undefined;
  return id ? undefined : JSON.stringify([routeKey(message.delivery), messageText(message.body)]);
}

/**
 * The waiting messages that enter the run now: in order, up to the first of its route that must wait. A message never
 * overtakes an older one of the same route (L2).
 */
export function steerableNow(
  waiting: readonly Message[],
  route: string,
  steerable: ReadonlySet<number>,
): readonly Message[] {
  const ofRoute = waiting.filter((message) => isRunnable(message) && routeKey(message.delivery) === route);
  const stop = ofRoute.findIndex(({ seq, tried }) => tried !== undefined || !steerable.has(seq));
  return stop === -1 ? ofRoute : ofRoute.slice(0, stop);
}

/** The parts of the active run that decide what happens to a new message. */
interface BusyAgent {
  readonly streaming: boolean;
  readonly compacting: boolean;
  /** Where the run's answer goes. */
  readonly route: string;
  /** Who it acts for, and the person its agent belongs to. */
  readonly person?: PersonId;
  readonly own?: PersonId;
  /** The newest message the run has taken. */
  readonly lastSeq: number;
}

/** What happens with a message that arrives while a run is active. */
export type Arrival = "end-stop" | "end-reset" | "end-interrupt" | "steer" | "answer" | "wait";

export function onArrival({ message, settings }: Waiting, run: BusyAgent): Arrival {
  const { body, seq } = message;
  if (body.kind === "stop") return seq > run.lastSeq ? "end-stop" : "wait";
  if (body.kind === "reset") return body.by === "person" ? "end-reset" : "wait";
  // A question must not wait until the run is over, and neither must a rule.
  if (body.kind === "setting" && body.rules !== undefined) return "answer";
  if (body.kind === "subagents" || (body.kind === "command" && !body.inTurn)) return "answer";
  if (!isRunnable(message)) return "wait";
  // An answer goes where its message came from, and a run acts for one person: only messages of the run's own route and person
  // can be steered into it (M30).
  const same = routeKey(message.delivery) === run.route && isFor(message, run.person, run.own) && !runsAlone(message);
  switch (settings.mode) {
    case "interrupt":
      return mayInterrupt(message) ? "end-interrupt" : "wait";
    case "steer":
      return same ? "steer" : "wait";
    case "steer-backlog":
      return same && run.streaming && !run.compacting ? "steer" : "wait";
    default:
      return "wait";
  }
}

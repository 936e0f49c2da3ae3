/** What people write: few conversations, bursts and pauses, a unique token in each message. Follows from the seed. */

import type { DeliveryContext } from "../../../src/core/delivery/delivery.ts";
import type { IncomingMessage } from "../../../src/core/message/incoming-message.ts";
import type { IncomingCommand } from "../../../src/core/ports/connector.ts";
import type { Random } from "../../kit/random.ts";
import type { Range, WorkloadShape } from "../scenarios/scenarios.ts";
import { type Directive, tokenText } from "./tokens.ts";

export interface Conversation {
  readonly name: string;
  readonly channel: string;
  readonly user: string;
  readonly route: DeliveryContext;
  /** The thread of the conversation whose agent this is, and its name. */
  readonly thread?: number;
  readonly parent?: string;
}

export type WorkItem =
  | {
      readonly kind: "message";
      readonly at: number;
      readonly conversation: Conversation;
      readonly token: string;
      readonly directives: readonly Directive[];
      readonly message: IncomingMessage;
    }
  | {
      readonly kind: "command";
      readonly at: number;
      readonly conversation: Conversation;
      readonly message: IncomingCommand;
    }
  | {
      readonly kind: "system";
      readonly at: number;
      readonly conversation: Conversation;
      readonly token: string;
      readonly silent: boolean;
    }
  /** A child of the conversation's agent, and what it is told. Nobody outside is answered. */
  | {
      readonly kind: "child";
      readonly at: number;
      readonly conversation: Conversation;
      readonly token: string;
      readonly directives: readonly Directive[];
    };

export interface Workload {
  readonly conversations: readonly Conversation[];
  readonly items: readonly WorkItem[];
  /** When the last of it is written. */
  readonly endsAt: number;
}

export function makeWorkload(random: Random, shape: WorkloadShape, channels: readonly string[]): Workload {
  const conversations = Array.from({ length: random.int(...shape.conversations) }, (_, index): Conversation => {
    const channel = channels[index % channels.length] as string;
    const user = `u${index + 1}`;
    return { name: `${channel}/${user}`, channel, user, route: { channel, to: shape.sharedTarget ? "room" : user } };
  });
  const items: WorkItem[] = [];
  const chosen = chosenTokens(random, shape);
  const total = random.int(...shape.messages);
  let tokens = 0;
  let greeted = 0;
  let ids = 0;
  let at = 200;

  const incoming = ({ channel, user, route, thread: threadId }: Conversation): Omit<IncomingMessage, "text"> => ({
    connector: channel,
    userId: user,
    channelId: user,
    peerKind: "dm",
    ...(threadId === undefined ? {} : { threadId }),
    messageId: `m${++ids}`,
    delivery: shape.threads ? { ...route, threadId: thread(random.int(1, shape.threads)) } : route,
  });
  // Threads are named by numbers and by words: both must be routes.
  const thread = (n: number): number | string => (n % 2 === 0 ? n : `thread ${n}`);

  const inThread = ({ name, channel, user, route }: Conversation, n: number): Conversation => ({
    ...{ name: `${name}#${n}`, channel, user, thread: n, parent: name },
    route: { ...route, threadId: n },
  });

  while (tokens < total) {
    // Everybody greets first, then by chance.
    const newcomer = conversations[greeted++];
    const person = newcomer ?? random.pick(conversations);
    const speaker =
      !newcomer && shape.forks && random.chance(0.5) ? inThread(person, random.int(1, shape.forks)) : person;
    const size = Math.min(random.int(...(newcomer ? shape.greeting : shape.burst)), total - tokens);
    for (let n = 0; n < size; n++) {
      const token = `t${++tokens}`;
      const directives = (Object.entries(shape.directives) as [Directive, number][])
        .filter(([, chance]) => random.chance(chance))
        .map(([directive]) => directive)
        .concat(chosen.get(tokens) ?? []);
      const padding = shape.padding ? ["word ".repeat(random.int(...shape.padding)).trim()] : [];
      const text = [tokenText(token), ...directives, ...padding].join(" ");
      const message = { ...incoming(speaker), text };
      items.push({ kind: "message", at, conversation: speaker, token, directives, message });
      at += random.int(0, newcomer ? 3 : 40);
    }
    at += random.int(...shape.pause);
  }
  const someTime = (): number => random.int(1_000, at);
  for (let n = random.int(...shape.systemMessages); n > 0; n--) {
    const conversation = random.pick(conversations);
    items.push({ kind: "system", at: someTime(), conversation, token: `t${++tokens}`, silent: random.chance(0.7) });
  }
  for (const [name, range] of [
    ["reset", shape.resets],
    ["stop", shape.stops],
    ...(shape.compacts ? [["compact", shape.compacts] as const] : []),
  ] as const) {
    for (let n = random.int(...range); n > 0; n--) {
      const conversation = random.pick(conversations);
      items.push({
        kind: "command",
        at: someTime(),
        conversation,
        message: { ...incoming(conversation), command: { name } },
      });
    }
  }
  for (let n = shape.modeChanges ? random.int(...shape.modeChanges) : 0; n > 0; n--) {
    const conversation = random.pick(conversations);
    const settings = {
      mode: random.pick(["steer", "followup", "collect", "steer-backlog", "queue", "interrupt"] as const),
    };
    const message: IncomingCommand = { ...incoming(conversation), command: { name: "queue", settings } };
    items.push({ kind: "command", at: someTime(), conversation, message });
  }
  for (let n = shape.children ? random.int(...shape.children) : 0; n > 0; n--) {
    const conversation = random.pick(conversations);
    const started = someTime();
    for (const directives of [["slow"], []] as const) {
      items.push({ kind: "child", at: started, conversation, token: `t${++tokens}`, directives });
    }
  }
  items.sort((a, b) => a.at - b.at);
  return { conversations, items, endsAt: at };
}

/** Which of the first fifty messages bear the directives that come in numbers: by their place, one each. */
function chosenTokens(
  random: Random,
  { exactly = {}, together = [] }: WorkloadShape,
): ReadonlyMap<number, readonly Directive[]> {
  const chosen = new Map<number, readonly Directive[]>();
  for (const [directive, range] of Object.entries(exactly) as [Directive, Range][]) {
    for (let n = random.int(...range); n > 0; n--) chosen.set(random.int(8, 50), [directive]);
  }
  const free = Array.from({ length: 43 }, (_, index) => index + 8).filter((place) => !chosen.has(place));
  for (const directives of together) {
    const [place] = free.splice(random.int(0, free.length - 1), 1);
    if (place !== undefined) chosen.set(place, directives);
  }
  return chosen;
}

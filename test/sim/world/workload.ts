/** The messages of people: few conversations, bursts and pauses, a unique token in each message. Derived from the seed. */

import type { DeliveryContext } from "../../../src/core/delivery/delivery.ts";
import type { IncomingMessage } from "../../../src/core/message/incoming-message.ts";
import type { IncomingCommand } from "../../../src/core/ports/connector.ts";
import type { Random } from "../../kit/random.ts";
import type { Range, WorkloadShape } from "../scenarios/scenario.ts";
import { type Directive, tokenText } from "./tokens.ts";

export interface Conversation {
  readonly name: string;
  readonly channel: string;
  readonly user: string;
  readonly route: DeliveryContext;
  /** The thread of the conversation whose agent this is, and its name. */
  readonly thread?: number;
  readonly parent?: string;
  /** Of a group: everyone who writes in it. */
  readonly members?: readonly string[];
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
  /** A child of the conversation's agent, and its task. No channel gets its answer. */
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
  /** When the last message is written. */
  readonly endsAt: number;
  /** People who read their mailbox, and one who never does. */
  readonly readers: readonly string[];
  readonly neverReads: string | undefined;
}

export function makeWorkload(random: Random, shape: WorkloadShape, channels: readonly string[]): Workload {
  const conversations = Array.from({ length: random.int(...shape.conversations) }, (_, index): Conversation => {
    const channel = channels[index % channels.length] as string;
    const user = `u${index + 1}`;
    const route = shape.routes?.[index % shape.routes.length] ?? "own";
    const to = shape.sharedTarget ? "room" : user;
    return { name: `${channel}/${user}`, channel, user, route: { channel: route === "own" ? channel : route, to } };
  });
  const members = conversations.map(({ user }) => user);
  for (let n = 1; n <= (shape.groups ?? 0); n++) {
    const channel = channels[n % channels.length] as string;
    const user = `g${n}`;
    conversations.push({ name: `${channel}/${user}`, channel, user, route: { channel, to: user }, members });
  }
  const readers = conversations.filter(({ route }) => route.channel === "api").map(({ user }) => user);
  const writing = new Writing(random, shape, conversations);
  writing.addMessages();
  writing.addOthers();
  const neverReads = readers.length > 1 ? readers.at(-1) : undefined;
  const items = writing.items.sort((a, b) => a.at - b.at);
  return {
    conversations,
    items,
    endsAt: writing.at,
    readers: readers.filter((user) => user !== neverReads),
    neverReads,
  };
}

/** Threads have numbers and words as names: both must work as routes. */
const threadName = (n: number): number | string => (n % 2 === 0 ? n : `thread ${n}`);

const inThread = ({ name, channel, user, route }: Conversation, n: number): Conversation => ({
  ...{ name: `${name}#${n}`, channel, user, thread: n, parent: name },
  route: { ...route, threadId: n },
});

/** A workload under construction: the tokens and message ids used so far, and the time of the last message. */
class Writing {
  readonly items: WorkItem[] = [];
  at = 200;
  readonly #random: Random;
  readonly #shape: WorkloadShape;
  readonly #conversations: readonly Conversation[];
  #tokens = 0;
  #messageIds = 0;

  constructor(random: Random, shape: WorkloadShape, conversations: readonly Conversation[]) {
    this.#random = random;
    this.#shape = shape;
    this.#conversations = conversations;
  }

  /** The messages of people: every conversation begins with a greeting, followed by random bursts. */
  addMessages(): void {
    const random = this.#random;
    const shape = this.#shape;
    const chosen = chosenTokens(random, shape);
    const total = random.int(...shape.messages);
    for (let greeted = 0; this.#tokens < total; greeted++) {
      const newcomer = this.#conversations[greeted];
      const person = newcomer ?? random.pick(this.#conversations);
      const speaker =
        !newcomer && shape.forks && random.chance(0.5) ? inThread(person, random.int(1, shape.forks)) : person;
      const size = Math.min(random.int(...(newcomer ? shape.greeting : shape.burst)), total - this.#tokens);
      for (let n = 0; n < size; n++) {
        this.#addMessage(speaker, chosen);
        this.at += random.int(0, newcomer ? 3 : 40);
      }
      this.at += random.int(...shape.pause);
    }
  }

  #addMessage(conversation: Conversation, chosen: ReadonlyMap<number, readonly Directive[]>): void {
    const random = this.#random;
    const { directives: chances, padding } = this.#shape;
    const token = this.#token();
    const directives = (Object.entries(chances) as [Directive, number][])
      .filter(([, chance]) => random.chance(chance))
      .map(([directive]) => directive)
      .concat(chosen.get(this.#tokens) ?? []);
    const filler = padding ? ["word ".repeat(random.int(...padding)).trim()] : [];
    const text = [tokenText(token), ...directives, ...filler].join(" ");
    const message = { ...this.#incoming(conversation), text };
    this.items.push({ kind: "message", at: this.at, conversation, token, directives, message });
  }

  /** Messages of other programs, commands, changes of the queue mode and children, at any time. */
  addOthers(): void {
    const random = this.#random;
    const shape = this.#shape;
    this.#times(shape.systemMessages, (conversation) => {
      const at = this.#someTime();
      this.items.push({ kind: "system", at, conversation, token: this.#token(), silent: random.chance(0.7) });
    });
    this.#times(shape.resets, (conversation) => this.#addCommand(conversation, { name: "reset" }));
    this.#times(shape.stops, (conversation) => this.#addCommand(conversation, { name: "stop" }));
    if (shape.compacts) this.#times(shape.compacts, (one) => this.#addCommand(one, { name: "compact" }));
    if (shape.modeChanges) {
      this.#times(shape.modeChanges, (conversation) => {
        this.#addCommand(conversation, { name: "queue", settings: { mode: random.pick(QUEUE_MODES) } });
      });
    }
    if (shape.badCommands) {
      this.#times(shape.badCommands, (conversation) => {
        const given = random.pick([
          { command: "memory", text: "" },
          { command: "queue", text: "debounce:2h", inTurn: true },
        ] as const);
        this.#addCommand(conversation, { name: "chat", ...given });
      });
    }
    if (shape.children) {
      this.#times(shape.children, (conversation) => {
        const at = this.#someTime();
        for (const directives of [["slow"], []] as const) {
          this.items.push({ kind: "child", at, conversation, token: this.#token(), directives });
        }
      });
    }
  }

  #addCommand(conversation: Conversation, command: IncomingCommand["command"]): void {
    const at = this.#someTime();
    this.items.push({ kind: "command", at, conversation, message: { ...this.#incoming(conversation), command } });
  }

  #times(range: Range, add: (conversation: Conversation) => void): void {
    for (let n = this.#random.int(...range); n > 0; n--) add(this.#random.pick(this.#conversations));
  }

  #token(): string {
    this.#tokens += 1;
    return `t${this.#tokens}`;
  }

  #someTime(): number {
    return this.#random.int(1_000, this.at);
  }

  #incoming({ channel, user, route, thread: threadId, members }: Conversation): Omit<IncomingMessage, "text"> {
    const { threads } = this.#shape;
    return {
      connector: channel,
      userId: members ? this.#random.pick(members) : user,
      channelId: user,
      peerKind: members ? "group" : "dm",
      threadId,
      messageId: `m${++this.#messageIds}`,
      delivery: threads ? { ...route, threadId: threadName(this.#random.int(1, threads)) } : route,
    };
  }
}

const QUEUE_MODES = ["steer", "followup", "collect", "steer-backlog", "queue", "interrupt"] as const;

/** Which of the first fifty messages get the counted directives: index → directives, one each. */
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

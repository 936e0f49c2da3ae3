/** What people write: few conversations, bursts and pauses, a unique token in each message. Follows from the seed. */
import type { IncomingCommand, IncomingMessage } from "../../src/core/connector.ts";
import type { DeliveryContext } from "../../src/core/delivery.ts";
import type { Random } from "./random.ts";
import type { WorkloadShape } from "./scenarios.ts";
import { type Directive, tokenText } from "./tokens.ts";

export interface Conversation {
  readonly name: string;
  readonly channel: string;
  readonly user: string;
  readonly route: DeliveryContext;
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
    return { name: `${channel}/${user}`, channel, user, route: { channel, to: user } };
  });
  const items: WorkItem[] = [];
  const total = random.int(...shape.messages);
  let tokens = 0;
  let ids = 0;
  let at = 200;

  const incoming = ({ channel, user, route }: Conversation): Omit<IncomingMessage, "text"> => ({
    connector: channel,
    userId: user,
    channelId: user,
    peerKind: "dm",
    messageId: `m${++ids}`,
    delivery: route,
  });

  while (tokens < total) {
    // Everybody writes once, then by chance.
    const speaker = conversations[tokens] ?? random.pick(conversations);
    const size = tokens < conversations.length ? 1 : Math.min(random.int(...shape.burst), total - tokens);
    for (let n = 0; n < size; n++) {
      const token = `t${++tokens}`;
      const directives = (Object.entries(shape.directives) as [Directive, number][])
        .filter(([, chance]) => random.chance(chance))
        .map(([directive]) => directive);
      const text = [tokenText(token), ...directives].join(" ");
      const message = { ...incoming(speaker), text };
      items.push({ kind: "message", at, conversation: speaker, token, directives, message });
      at += random.int(0, 40);
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
  items.sort((a, b) => a.at - b.at);
  return { conversations, items, endsAt: at };
}

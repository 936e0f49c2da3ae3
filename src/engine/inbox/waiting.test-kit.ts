/** Messages that wait in an inbox, and what an agent at rest does with them. */
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import { type AgentId, messageId } from "../../core/ids.ts";
import type { Message, MessageBody } from "../../core/message/message.ts";
import type { QueueMode, QueueSettings } from "../../core/message/queue.ts";
import type { PersonId } from "../../core/people/person.ts";
import { choose, type Waiting } from "./decide.ts";

export const agentId = "a".repeat(24) as AgentId;
export const HOME: DeliveryContext = { channel: "c", to: "home" };
export const defaults: Required<QueueSettings> = {
  mode: "collect",
  debounceMs: 1_000,
  cap: 20,
  dropPolicy: "summarize",
};

export interface Said {
  readonly seq: number;
  readonly at?: number;
  readonly mode?: QueueMode;
  readonly body?: MessageBody;
  readonly to?: DeliveryContext;
  readonly id?: string;
  readonly settings?: Partial<QueueSettings>;
  readonly for?: string;
}

export function said({ seq, at = seq * 10, mode, body, to = HOME, id, settings, for: person }: Said): Waiting {
  const message: Message = {
    id: messageId(agentId, seq),
    agentId,
    seq,
    state: "waiting",
    acceptedAt: at,
    body: body ?? { kind: "user", text: `word ${seq}` },
    delivery: to,
    source: { connector: "c", messageId: id ?? String(seq) },
    behalf: person === undefined ? undefined : { person: person as PersonId },
  };
  return { message, settings: { ...defaults, ...settings, ...(mode ? { mode } : {}) } };
}

export const rest = (waiting: readonly Waiting[], more: Partial<Parameters<typeof choose>[0]> = {}) =>
  choose({
    now: 1_000_000,
    waiting,
    urgent: waiting.map((one) => one.message).filter(({ body }) => body.kind === "stop" || body.kind === "reset"),
    dedupe: "message-id",
    ...more,
  });
export const seqs = (choice: ReturnType<typeof choose>): readonly number[] =>
  "messages" in choice ? choice.messages.map((message) => message.seq) : [];

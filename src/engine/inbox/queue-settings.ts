/**
 * The queue settings of a message: from the message itself, else its agent's overrides, else its channel, else the
 * configuration, else the default. Each setting is resolved separately.
 */
import { type Config, configDefaults } from "../../config/config-schema.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { Message } from "../../core/message/message.ts";
import {
  type QueueDedupeMode,
  type QueueDropPolicy,
  type QueueMode,
  type QueueSettings,
  queueDropPolicySchema,
  queueModeSchema,
} from "../../core/message/queue.ts";

export const DEFAULT_QUEUE_DEBOUNCE_MS = configDefaults.queue.debounceMs;
export const DEFAULT_QUEUE_CAP = configDefaults.queue.cap;
export const DEFAULT_QUEUE_DROP: QueueDropPolicy = configDefaults.queue.drop;

const MODE_ALIASES: Readonly<Record<string, QueueMode>> = {
  interrupts: "interrupt",
  abort: "interrupt",
  steering: "steer",
  "follow-up": "followup",
  "follow-ups": "followup",
  followups: "followup",
  coalesce: "collect",
  "steer+backlog": "steer-backlog",
  steer_backlog: "steer-backlog",
};

const DROP_ALIASES: Readonly<Record<string, QueueDropPolicy>> = { oldest: "old", newest: "new", summary: "summarize" };

/** A mode by its name or an alias; undefined for any other word. */
export function normalizeQueueMode(text: string | undefined): QueueMode | undefined {
  const word = text?.trim().toLowerCase() ?? "";
  return queueModeSchema.safeParse(Object.hasOwn(MODE_ALIASES, word) ? MODE_ALIASES[word] : word).data;
}

export function normalizeQueueDropPolicy(text: string | undefined): QueueDropPolicy | undefined {
  const word = text?.trim().toLowerCase() ?? "";
  return queueDropPolicySchema.safeParse(Object.hasOwn(DROP_ALIASES, word) ? DROP_ALIASES[word] : word).data;
}

export interface QueueQuestion {
  readonly cfg: Pick<Config, "queue">;
  readonly channel?: string;
  /** The agent's overrides. */
  readonly sessionEntry?: Pick<AgentState, "queueMode" | "queueDebounceMs" | "queueCap" | "queueDrop">;
  readonly inlineMode?: QueueMode;
  readonly inlineOptions?: Partial<QueueSettings>;
  /** Of the message: instead of the settings of the channel and the configuration. */
  readonly byDefault?: Partial<QueueSettings>;
}

export function resolveQueueSettings(params: QueueQuestion): Required<QueueSettings> {
  const { cfg, sessionEntry, inlineOptions, byDefault } = params;
  const channelKey = params.channel?.trim().toLowerCase() ?? "";
  const { queue } = cfg;
  const channel = Object.hasOwn(queue.byChannel, channelKey) ? queue.byChannel[channelKey] : undefined;
  return {
    mode:
      params.inlineMode ??
      inlineOptions?.mode ??
      normalizeQueueMode(sessionEntry?.queueMode) ??
      byDefault?.mode ??
      channel?.mode ??
      queue.mode ??
      configDefaults.queue.mode,
    debounceMs: atLeast(
      0,
      inlineOptions?.debounceMs ??
        sessionEntry?.queueDebounceMs ??
        byDefault?.debounceMs ??
        channel?.debounceMs ??
        queue.debounceMs,
      DEFAULT_QUEUE_DEBOUNCE_MS,
    ),
    cap: atLeast(
      1,
      inlineOptions?.cap ?? sessionEntry?.queueCap ?? byDefault?.cap ?? channel?.cap ?? queue.cap,
      DEFAULT_QUEUE_CAP,
    ),
    dropPolicy:
      inlineOptions?.dropPolicy ??
      normalizeQueueDropPolicy(sessionEntry?.queueDrop) ??
      byDefault?.dropPolicy ??
      channel?.drop ??
      queue.drop ??
      DEFAULT_QUEUE_DROP,
  };
}

const atLeast = (least: number, value: number | undefined, otherwise: number): number =>
  value === undefined || !Number.isFinite(value) ? otherwise : Math.max(least, Math.floor(value));

/** Without a configuration every message gets a run of its own, at once and in order; nothing is ever dropped. */
const PLAIN_QUEUE: Config["queue"] = {
  mode: "queue",
  debounceMs: 0,
  cap: Number.MAX_SAFE_INTEGER,
  drop: "old",
  dedupe: "message-id",
  byChannel: {},
};

/** Resolves the queue settings for the agents of a node. */
export interface QueuePolicy {
  readonly dedupe: QueueDedupeMode;
  settingsFor(message: Message, state: AgentState): Required<QueueSettings>;
}

/** `queue` is called each time: the configuration can change while the node runs. */
export function queuePolicyOf(queue: () => Config["queue"] | undefined): QueuePolicy {
  return {
    get dedupe() {
      return (queue() ?? PLAIN_QUEUE).dedupe;
    },
    settingsFor: ({ body, source, delivery }, state) =>
      resolveQueueSettings({
        cfg: { queue: queue() ?? PLAIN_QUEUE },
        channel: source?.connector ?? delivery?.channel,
        sessionEntry: state,
        inlineOptions: body.kind === "user" ? body.queue : undefined,
        byDefault: body.kind === "user" ? body.queueDefault : undefined,
      }),
  };
}

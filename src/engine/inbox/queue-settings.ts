/**
 * The queue settings of a message: from the message itself, else its agent's overrides, else its channel, else the
 * configuration, else the default. Each setting is resolved separately. The configuration is about chats: a message of a program
 * gets a run of its own and is never dropped, but refused before it is accepted if too many wait (M18a).
 */
import { type Config, configDefaults } from "../../config/config-schema.ts";
import type { AgentState } from "../../core/agent/state.ts";
import { API_CHANNEL, WEBHOOK_CHANNEL } from "../../core/delivery/route.ts";
import { countsTowardsCap, type Message, type NewMessage } from "../../core/message/message.ts";
import {
  ONE_RUN_EACH,
  QUEUE_LIMITS,
  type QueueDropPolicy,
  type QueueMode,
  type QueueSettings,
  queueDropPolicySchema,
  queueModeSchema,
  UNCAPPED,
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

interface QueueQuestion {
  readonly cfg: Pick<Config, "queue">;
  readonly channel?: string;
  /** The agent's overrides. */
  readonly sessionEntry?: Pick<AgentState, "queueMode" | "queueDebounceMs" | "queueCap" | "queueDrop">;
  readonly inlineMode?: QueueMode;
  readonly inlineOptions?: Partial<QueueSettings>;
  /** The message's own default, instead of the settings of the channel and the configuration. */
  readonly byDefault?: Partial<QueueSettings>;
  /** A program sent it. */
  readonly isProgram?: boolean;
}

export function resolveQueueSettings(params: QueueQuestion): Required<QueueSettings> {
  const { cfg, inlineOptions, byDefault } = params;
  // The settings of an agent are for its chat. The page posts like a program, with the settings of a chat as default.
  const isProgram = params.isProgram === true && byDefault === undefined;
  const sessionEntry = isProgram ? undefined : params.sessionEntry;
  const channelKey = params.channel?.trim().toLowerCase() ?? "";
  const { queue } = cfg;
  const usual = isProgram ? { ...queue, ...ONE_RUN_EACH } : queue;
  const channel = Object.hasOwn(queue.byChannel, channelKey) ? queue.byChannel[channelKey] : undefined;
  return {
    mode:
      params.inlineMode ??
      inlineOptions?.mode ??
      normalizeQueueMode(sessionEntry?.queueMode) ??
      byDefault?.mode ??
      channel?.mode ??
      usual.mode ??
      configDefaults.queue.mode,
    debounceMs: within(
      QUEUE_LIMITS.debounceMs,
      inlineOptions?.debounceMs ??
        sessionEntry?.queueDebounceMs ??
        byDefault?.debounceMs ??
        channel?.debounceMs ??
        queue.debounceMs,
      DEFAULT_QUEUE_DEBOUNCE_MS,
    ),
    // No accepted message of a program is dropped (M18a).
    cap: isProgram
      ? UNCAPPED
      : within(
          [QUEUE_LIMITS.cap[0], UNCAPPED],
          inlineOptions?.cap ?? sessionEntry?.queueCap ?? byDefault?.cap ?? channel?.cap ?? usual.cap,
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

/** Older programs stored values beyond the limits. */
const within = ([min, max]: readonly [number, number], value: number | undefined, otherwise: number): number =>
  value === undefined || !Number.isFinite(value) ? otherwise : Math.min(max, Math.max(min, Math.floor(value)));

/** Channels on which programs write. People write on all others. */
const PROGRAM_CHANNELS: ReadonlySet<string> = new Set([API_CHANNEL, WEBHOOK_CHANNEL]);

const isProgram = ({ source }: Pick<NewMessage, "source">): boolean =>
  source !== undefined && PROGRAM_CHANNELS.has(source.connector);

const isHook = ({ body }: Pick<NewMessage, "body">): boolean =>
  body.kind === "trigger" && body.trigger.type === "webhook";

type QueueConfig = Pick<Config, "queue">;

/**
 * How many messages may wait at its agent when this one is accepted. Undefined: any number. Commands are always accepted: a stop
 * helps most where many messages wait.
 */
export const maxWaiting = (
  { queue }: QueueConfig,
  message: Pick<NewMessage, "body" | "source" | "asRun">,
): number | undefined =>
  isHook(message) || (isProgram(message) && countsTowardsCap(message)) ? queue.maxWaiting : undefined;

/** The queue settings of a message at an agent in this state. */
export function queueSettingsFor(
  cfg: QueueConfig,
  message: Pick<Message, "body" | "source" | "delivery">,
  state: AgentState,
): Required<QueueSettings> {
  const { body, source, delivery } = message;
  return resolveQueueSettings({
    cfg,
    channel: source?.connector ?? delivery?.channel,
    sessionEntry: state,
    isProgram: isProgram(message),
    inlineOptions: body.kind === "user" ? body.queue : undefined,
    byDefault: body.kind === "user" ? body.queueDefault : undefined,
  });
}

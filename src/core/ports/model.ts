/**
 * The port for models: a request in, events out, a complete result at the end. It never throws; a failure belongs to one of the
 * classes, and the loop has a rule for each class.
 */
import type { Block, StopReason, Usage } from "../history/entry.ts";

export interface ModelMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly content: readonly Block[];
  /** Role `tool`: the call that this answers. */
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly isError?: boolean;
  /** Role `assistant`: the model that wrote it, for a change of provider. */
  readonly api?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly stopReason?: StopReason;
  readonly timestamp?: number;
}

export interface ModelTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The model to call, and its thinking level. */
export interface ModelChoice {
  /** `provider/id`, or `auto` if none was chosen. */
  readonly model: string;
  /** Tried in order, within the same call, when the model before cannot answer. */
  readonly fallbacks?: readonly string[];
  /** The key to use first, by its profile's name; `only`: no other key is tried. */
  readonly authProfile?: { readonly name: string; readonly only: boolean };
  readonly thinking?: string;
  /** Absent: the provider's default. */
  readonly temperature?: number;
}

export interface ModelRequest extends ModelChoice {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  readonly sessionId: string;
  /** Sessions that programs keep by themselves, by provider (`cliSessionIds`). */
  readonly cliSessionIds?: Readonly<Record<string, string>>;
  /** The number of this attempt of the same request, from 1. */
  readonly tries?: number;
  /** The longest answer in tokens. Absent or larger than the model's limit: the model's limit. */
  readonly maxTokens?: number;
  /** The longest answer in characters. An adaptor need not read more of it: the rest is cut. */
  readonly maxCharacters?: number;
}

/** Prices in dollars per million tokens, and the limits of prompt and answer. */
export interface CallPrice {
  readonly contextWindow: number;
  readonly maxTokens: number;
  /** The smallest useful limit of an answer. */
  readonly leastTokens: number;
  readonly cost: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
  };
}

/** How often the loop repeats a call, by the class of its error. Only the loop waits and repeats. */
export const MODEL_TRIES = { transient: 3, rate: 5 } as const;

/** `restart`: another attempt begins; earlier events of this call are void. */
export type ModelEvent =
  | { readonly type: "restart" }
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  | { readonly type: "toolCall"; readonly id: string; readonly name: string }
  /** A part of the arguments of a call. */
  | { readonly type: "arguments"; readonly delta: string };

export type ModelErrorClass = "overflow" | "rate" | "transient" | "auth" | "request" | "aborted";

export interface ModelError {
  readonly class: ModelErrorClass;
  readonly message: string;
  readonly retryAfterMs?: number;
}

/** The result of a call. On an error, `content` holds what had arrived. */
export interface ModelResult {
  readonly content: readonly Block[];
  readonly stopReason: StopReason;
  readonly api: string;
  readonly provider: string;
  readonly model: string;
  readonly usage?: Usage;
  readonly error?: ModelError;
  /** The usage of failed attempts within the same call. */
  readonly alsoUsed?: readonly Usage[];
  /** The session in which a program has answered, to go on with. */
  readonly cliSession?: { readonly provider: string; readonly id: string };
  /** The answer was longer than `maxCharacters`; `content` holds its beginning. */
  readonly cut?: boolean;
  /** The caller gave up waiting: the end of the call and its usage are unknown. */
  readonly unheard?: boolean;
}

export interface Model {
  /** Must not throw and must settle when the signal aborts. `onEvent` gets deltas as they come. */
  call(request: ModelRequest, signal: AbortSignal, onEvent: (event: ModelEvent) => void): Promise<ModelResult>;
  /** The highest price of the models that may answer such a call. Absent: unknown. Must not throw. */
  price?(choice: ModelChoice): Promise<CallPrice | undefined>;
}

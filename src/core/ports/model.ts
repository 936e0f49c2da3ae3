/**
 * The model's port: a request in, events out, a complete result at the end. It never throws; failures are one of the
 * classes, and each class has its rule in the loop.
 */
import type { Block, StopReason, Usage } from "../history/entry.ts";

export interface ModelMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly content: readonly Block[];
  /** Role `tool`: which call this answers. */
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly isError?: boolean;
  /** Role `assistant`: who wrote it, for handing over between providers. */
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

/** Who is asked, and how hard it is to think. */
export interface ModelChoice {
  /** `provider/id`, or `auto` where nothing was said. */
  readonly model: string;
  /** Tried in order, within the same call, when the one before cannot answer. */
  readonly fallbacks?: readonly string[];
  /** The key to use first, by its profile's name; `only`: no other one is tried. */
  readonly authProfile?: { readonly name: string; readonly only: boolean };
  readonly thinking?: string;
}

export interface ModelRequest extends ModelChoice {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  readonly sessionId: string;
  /** The how-manieth time this very request is made, from 1; tells when a model has had its chances. */
  readonly tries?: number;
  /** The longest answer there may be, in tokens; the model's own limit where absent or smaller. */
  readonly maxTokens?: number;
}

/** What calls cost, in dollars for a million tokens, and how long prompt and answer can be. */
export interface CallPrice {
  readonly contextWindow: number;
  readonly maxTokens: number;
  /** The shortest limit of an answer that leaves room for one. */
  readonly leastTokens: number;
  readonly cost: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
  };
}

/** How often the loop makes the same call, by the class of its error. Waiting and repeating is the loop's alone. */
export const MODEL_TRIES = { transient: 3, rate: 5 } as const;

/** `restart`: what was told before within this call is void, another try begins. */
export type ModelEvent =
  | { readonly type: "restart" }
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  | { readonly type: "toolCall"; readonly id: string; readonly name: string };

export type ModelErrorClass = "overflow" | "rate" | "transient" | "auth" | "request" | "aborted";

export interface ModelError {
  readonly class: ModelErrorClass;
  readonly message: string;
  readonly retryAfterMs?: number;
}

/** What a call gave. On an error, `content` holds whatever had arrived. */
export interface ModelResult {
  readonly content: readonly Block[];
  readonly stopReason: StopReason;
  readonly api: string;
  readonly provider: string;
  readonly model: string;
  readonly usage?: Usage;
  readonly error?: ModelError;
  /** What tries that failed within the same call had used before the last one answered. */
  readonly alsoUsed?: readonly Usage[];
  /** Set by whoever gave up waiting: nobody heard how the call ended, nor what it used. */
  readonly unheard?: boolean;
}

export interface Model {
  /** Must not throw and must settle when the signal aborts. `onEvent` is told of deltas as they come. */
  call(request: ModelRequest, signal: AbortSignal, onEvent: (event: ModelEvent) => void): Promise<ModelResult>;
  /** The most that whoever may answer such a call costs. Absent: nobody knows. Must not throw. */
  price?(choice: ModelChoice): Promise<CallPrice | undefined>;
}

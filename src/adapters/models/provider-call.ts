/**
 * One request to one provider with one key: the interface between the router, which picks the provider, and the adaptors,
 * which know the protocols. An adaptor makes exactly one HTTP request, never retries and never throws.
 */
import type { Clock } from "../../core/ports/clock.ts";
import type { HttpPost } from "../../core/ports/http-post.ts";
import type { ModelEvent, ModelRequest, ModelResult } from "../../core/ports/model.ts";
import type { ProviderModel } from "./provider-model.ts";
import type { ThinkingLevel } from "./thinking.ts";

export interface ProviderCall {
  readonly model: ProviderModel;
  readonly request: ModelRequest;
  /** Absent: the provider's default; no thinking if that can be chosen. */
  readonly thinking?: ThinkingLevel;
  /** Undefined if the provider needs none. */
  readonly key: string | undefined;
  /** Of a login; null removes one. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** The call ends as `transient` if no data arrives for this long. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ModelEvent) => void;
}

export interface CallDeps {
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  /** For adaptors without a library. Default: through `fetch`. */
  readonly post?: HttpPost;
  readonly userAgent: string;
}

export interface ProviderResult extends ModelResult {
  /** The HTTP status, if there was a response. */
  readonly status?: number;
}

export type ProviderApi = (deps: CallDeps, call: ProviderCall) => Promise<ProviderResult>;

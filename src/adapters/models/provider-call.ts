/**
 * One request to one provider with one key: the seam between the router, which decides who is asked, and the adaptors,
 * which know the protocols. An adaptor makes exactly one HTTP request, never waits to try again and never throws.
 */
import type { Clock } from "../../core/ports/clock.ts";
import type { HttpPost } from "../../core/ports/http-post.ts";
import type { ModelEvent, ModelRequest, ModelResult } from "../../core/ports/model.ts";
import type { ProviderModel } from "./provider-model.ts";
import type { ThinkingLevel } from "./thinking.ts";

export interface ProviderCall {
  readonly model: ProviderModel;
  readonly request: ModelRequest;
  /** Absent: the provider's own way, without thinking where it lets one choose. */
  readonly thinking?: ThinkingLevel;
  /** Absent where the provider wants none. */
  readonly key: string | undefined;
  /** Silence of this length ends the call as `transient`. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ModelEvent) => void;
}

/** What calls need of the world. */
export interface CallDeps {
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  /** For protocols that are spoken without a library. Default: through `fetch`. */
  readonly post?: HttpPost;
  readonly userAgent: string;
}

export interface ProviderResult extends ModelResult {
  /** Of the HTTP answer, where there was one. */
  readonly status?: number;
}

export type ProviderApi = (deps: CallDeps, call: ProviderCall) => Promise<ProviderResult>;

/**
 * The part of an AI SDK language model that is used, by shape: versions 2, 3 and 4 of its specification. So the AI SDK is no
 * dependency, and a model of any of its versions goes in.
 */

export interface LanguageModel {
  /** `v2`, `v3` or `v4`. */
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  /** Which addresses it reads by itself, by media type: a model that names a type takes files of it. */
  readonly supportedUrls?: PromiseLike<Readonly<Record<string, unknown>>> | Readonly<Record<string, unknown>>;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

export const VERSIONS = ["v2", "v3", "v4"] as const;
export type Version = (typeof VERSIONS)[number];

/** Whether it takes PDFs. Those that only say "any type" take them too. */
export async function takesPdfs({ supportedUrls }: LanguageModel): Promise<boolean> {
  const types = Object.keys((await supportedUrls) ?? {});
  return types.some((type) => type === "application/pdf" || type === "application/*" || type === "*" || type === "*/*");
}

export const versionOf = ({ specificationVersion }: LanguageModel): Version | undefined =>
  VERSIONS.find((version) => version === specificationVersion);

export const isLanguageModel = (value: unknown): value is LanguageModel =>
  typeof value === "object" && value !== null && typeof (value as Partial<LanguageModel>).doStream === "function";

/** A part of a stream, of any version. Parts that are not here carry nothing that is kept. */
export type StreamPart =
  | {
      readonly type: "text-delta" | "reasoning-delta" | "tool-input-delta";
      readonly id: string;
      readonly delta: string;
    }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "tool-input-start"; readonly id: string; readonly toolName: string }
  | {
      readonly type: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      /** JSON. */
      readonly input: string;
      readonly providerExecuted?: boolean;
    }
  | { readonly type: "finish"; readonly finishReason: FinishReason; readonly usage: SdkUsage }
  | { readonly type: "error"; readonly error: unknown };

/** What a provider wants back with the part that it came with, such as the signature of a thought. */
export interface WithMetadata {
  readonly providerMetadata?: unknown;
}

/** A word in version 2, with the provider's own word since version 3. */
export type FinishReason = string | { readonly unified: string; readonly raw?: string };

/** Flat in version 2. */
export interface SdkUsage {
  readonly inputTokens?:
    | number
    | { readonly total?: number; readonly noCache?: number; readonly cacheRead?: number; readonly cacheWrite?: number };
  readonly outputTokens?: number | { readonly total?: number };
  readonly cachedInputTokens?: number;
}

/** A model of a provider with all that is needed to call it: where it is, what it can take, what it costs. */
import type { ThinkingLevel } from "./thinking.ts";

/** Dollars for a million tokens. */
export interface Cost {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface ProviderModel {
  readonly provider: string;
  readonly id: string;
  readonly api: string;
  readonly baseUrl: string;
  readonly contextWindow: number;
  readonly maxTokens: number;
  readonly cost: Cost;
  /** The levels it can do, from least to most. */
  readonly thinking: readonly ThinkingLevel[];
  readonly images: boolean;
  /** What the library's catalogue says beyond this, handed back to the library as it is. */
  readonly catalogue?: object;
}

/** `provider/id`; an id may hold further slashes. Undefined where the name has another form. */
export function splitModelName(name: string): { readonly provider: string; readonly id: string } | undefined {
  const at = name.indexOf("/");
  return at > 0 && at < name.length - 1 ? { provider: name.slice(0, at), id: name.slice(at + 1) } : undefined;
}

export const modelName = ({ provider, id }: Pick<ProviderModel, "provider" | "id">): string => `${provider}/${id}`;

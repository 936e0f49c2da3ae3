/** A model of a provider with everything that a call needs: address, limits, prices. */
import type { CliSettings } from "./cli/cli-settings.ts";
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
  /** The supported levels, lowest first. */
  readonly thinking: readonly ThinkingLevel[];
  readonly images: boolean;
  /** False if the model cannot call tools. */
  readonly tools?: boolean;
  /** The program, if the model is one. */
  readonly cli?: CliSettings;
  /** The library's own description, passed back to it unchanged. */
  readonly catalogue?: object;
}

/** `provider/id`; the id may contain slashes. Undefined for any other form. */
export function splitModelName(name: string): { readonly provider: string; readonly id: string } | undefined {
  const at = name.indexOf("/");
  return at > 0 && at < name.length - 1 ? { provider: name.slice(0, at), id: name.slice(at + 1) } : undefined;
}

export const modelName = ({ provider, id }: Pick<ProviderModel, "provider" | "id">): string => `${provider}/${id}`;

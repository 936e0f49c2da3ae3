/** Which names of models are valid. */
import type { Config } from "../../config/config-schema.ts";
import { KNOWN_PROVIDERS } from "../../config/known-providers.ts";
import { splitModelName } from "./provider-model.ts";

/** Whether a name is valid: its provider is configured or built in, and lists the model if it lists any. */
export function knowsModel(config: Config["models"], name: string): boolean {
  if (name === "offline") return true;
  const parts = splitModelName(name);
  if (!parts) return false;
  const provider = Object.hasOwn(config.providers, parts.provider) ? config.providers[parts.provider] : undefined;
  if (!provider) return Object.hasOwn(KNOWN_PROVIDERS, parts.provider);
  return provider.models.length === 0 || provider.models.some((model) => model.id === parts.id);
}

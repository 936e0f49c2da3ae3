/** Finds the adaptor that speaks a model's API and loads it, and only it, when it is first needed. */
import { isPiApi } from "./pi-ai/load-api.ts";
import type { ProviderApi } from "./provider-call.ts";
import type { ProviderModel } from "./provider-model.ts";

export async function apiFor({ api, baseUrl }: ProviderModel): Promise<ProviderApi | undefined> {
  if (api === "openai-completions") {
    const { callCompletions, speaksPlainly } = await import("./openai-completions/completions-call.ts");
    if (speaksPlainly(baseUrl)) return callCompletions;
  }
  return isPiApi(api) ? (await import("./pi-ai/pi-ai-call.ts")).callPiAi : undefined;
}

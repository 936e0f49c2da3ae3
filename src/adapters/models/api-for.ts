/** The adaptor for a model's API, loaded on first use. */
import { isPiApi } from "./pi-ai/load-api.ts";
import type { ProviderApi } from "./provider-call.ts";
import type { ProviderModel } from "./provider-model.ts";

/** The name of the API of programs on this machine. */
export const CLI_API = "cli";

// Kept, because each `import()` costs as much as ten stream events.
let completions: typeof import("./openai-completions/completions-call.ts") | undefined;
let piAi: typeof import("./pi-ai/pi-ai-call.ts") | undefined;

export async function apiFor({ api, baseUrl }: ProviderModel): Promise<ProviderApi | undefined> {
  if (api === CLI_API) return (await import("./cli/cli-call.ts")).callCli;
  if (api === "openai-completions") {
    completions ??= await import("./openai-completions/completions-call.ts");
    if (completions.speaksPlainly(baseUrl)) return completions.callCompletions;
  }
  if (api === "ollama") return (await import("./ollama/ollama-call.ts")).callOllama;
  if (!isPiApi(api)) return undefined;
  piAi ??= await import("./pi-ai/pi-ai-call.ts");
  return piAi.callPiAi;
}

/** `rookery models`: shows the available models, and which one is used and why. */

import type { DescribedModels } from "../../../adapters/models/describe-models.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { defineAction } from "../command.ts";

export const modelsCommand = defineAction({
  summary: "show the available models, and which one is used and why",
  usage: "[provider]",
  description:
    "Lists the models that are configured or detected. Name a provider to list all its known models. Calls no model.",
  arguments: { min: 0, max: 1 },
  async run({ args: [provider], env, paths, json, stdout, loadConfig }) {
    const { config } = await loadConfig();
    const { openModels } = await import("../../../adapters/models/open-models.ts");
    const { describeModels } = await import("../../../adapters/models/describe-models.ts");
    const { systemClock } = await import("../../../adapters/system/system-clock.ts");
    const { silentLog } = await import("../../../core/ports/log.ts");
    const models = openModels({ config, paths, env, clock: systemClock, log: silentLog });
    if (provider !== undefined && !models.providers.provider(provider)) {
      throw new NotFoundError(`There is no provider "${provider}".`, {
        hint: "Run `rookery models` to see the configured providers. Add one under models.providers in the configuration.",
      });
    }
    const described = await describeModels(config, models, provider);
    stdout.write(json ? `${JSON.stringify(described)}\n` : `${modelsText(described).join("\n")}\n`);
    return undefined;
  },
});

function modelsText({ using, providers }: DescribedModels): readonly string[] {
  return [
    `In use: ${using.model}, because ${using.why}.`,
    ...(using.fallbacks.length > 0 ? [`Fallbacks: ${using.fallbacks.join(", ")}`] : []),
    ...(using.thinking === undefined ? [] : [`Thinking: ${using.thinking}`]),
    ...(using.model === "offline"
      ? ["The offline model is not an LLM. Set a key with `rookery auth set anthropic`, or start Ollama."]
      : []),
    ...providers.flatMap(({ name, keys, models }) => [
      "",
      `${name}${keys.length === 0 ? " (no key)" : ""}`,
      ...keys.map(({ profile, where, found }) => `  key ${profile}: ${where}${found ? "" : ", which is not set"}`),
      ...models.map(
        ({ provider, id, contextWindow, maxTokens, cost, thinking, images }) =>
          `  ${provider}/${id}  ${size(contextWindow)} in, ${size(maxTokens)} out, ${priceText(cost)}` +
          `${thinking.length > 1 ? `, thinking ${thinking.join(" ")}` : ""}${images ? ", accepts images" : ""}`,
      ),
    ]),
  ];
}

/** A server that is not priced, or a model whose price is not known, has zeros. */
const priceText = ({ input, output }: { readonly input: number; readonly output: number }): string =>
  input === 0 && output === 0 ? "price n/a" : `$${input}/$${output} per million`;

const size = (tokens: number): string => (tokens >= 1_000 ? `${Math.round(tokens / 1_000)}k` : String(tokens));

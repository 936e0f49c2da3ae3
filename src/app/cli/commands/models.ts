/** `rookery models`: shows the available models, and which one is used and why; `test` calls one. */

import type { DescribedModels } from "../../../adapters/models/describe-models.ts";
import type { TriedModel } from "../../../adapters/models/try-model.ts";
import { KNOWN_PROVIDERS } from "../../../config/known-providers.ts";
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { InvalidInputError, NotFoundError } from "../../../core/errors.ts";
import { unknownName } from "../../../core/known-name.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";
import { progressOf } from "../progress.ts";
import { keysGroup } from "./models-keys.ts";
import { login, logins, logout } from "./models-logins.ts";

const list = defineAction({
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
    const models = openModels({ settings: { current: config }, paths, env, clock: systemClock, log: silentLog });
    if (provider !== undefined && !models.providers.provider(provider)) {
      const known = [...Object.keys(config.models.providers), ...Object.keys(KNOWN_PROVIDERS)];
      throw new NotFoundError(unknownName("provider", provider, known), {
        hint: "Run `rookery models` to see the configured providers. Add one under models.providers in the configuration.",
      });
    }
    const described = await describeModels(config, models, provider);
    stdout.write(json ? `${JSON.stringify(described)}\n` : `${modelsText(described).join("\n")}\n`);
    return undefined;
  },
});

const test = defineAction({
  summary: "call a model once and show latency, price, window and features",
  usage: "[model]",
  description:
    "Sends one short question to the model you name, or to the one in use, and to no other. A running engine asks it, with its own environment and also with keys that rest after a refusal. It costs what the provider asks for it; budgets do not count it. Exits with 1 if the model does not answer.",
  arguments: { min: 0, max: 1 },
  async run(context) {
    const wanted = context.args[0]?.trim() || undefined;
    using progress = progressOf(context);
    progress.step(`Asking ${wanted ?? "the model in use"}.`);
    const tried = await tested(context, wanted);
    printResult(context, tried, context.here(testText(tried).join("\n")));
    return tried.ok ? undefined : EXIT.failure;
  },
});

const TEST_MS = 120_000;

async function tested(
  { home, env, paths, loadConfig }: CommandContext,
  model: string | undefined,
): Promise<TriedModel> {
  const { findEngine } = await import("../../gateway/control/find-engine.ts");
  const transport = await findEngine(home);
  if (transport) {
    const { EngineApi } = await import("../../client/engine-api.ts");
    return new EngineApi(transport).post<TriedModel>("/api/models/test", { model });
  }
  const { config } = await loadConfig();
  const { openModels } = await import("../../../adapters/models/open-models.ts");
  const { testModel } = await import("../../../adapters/models/try-model.ts");
  const { systemClock: clock } = await import("../../../adapters/system/system-clock.ts");
  const { silentLog } = await import("../../../core/ports/log.ts");
  const models = openModels({ settings: { current: config }, paths, env, clock, log: silentLog });
  return testModel(config, models, clock, model, AbortSignal.timeout(TEST_MS));
}

const set = defineAction({
  summary: "choose the model of all agents, or of one profile",
  usage: "<model>",
  description:
    "Writes models.default into the configuration, or the model of a profile. A model that is not known is refused. Agents with a model of their own keep it. You can undo it.",
  arguments: { min: 1, max: 1 },
  options: { profile: { type: "string", value: "NAME", description: "only of this profile" } },
  examples: ["rookery models set openai/gpt-5", "rookery models set offline --profile helper"],
  async run(context) {
    const { args, env, paths, flags, loadConfig } = context;
    const { config } = await loadConfig();
    const { openModels } = await import("../../../adapters/models/open-models.ts");
    const { modelProblem } = await import("../../../adapters/models/check-choice.ts");
    const { systemClock: clock } = await import("../../../adapters/system/system-clock.ts");
    const { silentLog } = await import("../../../core/ports/log.ts");
    const { setConfigValue, setText } = await import("../set-config-value.ts");
    const model = args[0]?.trim() ?? "";
    const { profile } = flags;
    if (profile !== undefined && profile !== DEFAULT_PROFILE && !Object.hasOwn(config.profiles, profile))
      throw new NotFoundError(unknownName("profile", profile, [DEFAULT_PROFILE, ...Object.keys(config.profiles)]), {
        hint: "Add it under profiles in the configuration first.",
      });
    const models = openModels({ settings: { current: config }, paths, env, clock, log: silentLog });
    const problem = await modelProblem(config, models, model);
    if (problem !== undefined) throw new InvalidInputError(problem, { hint: "Run `rookery models` to see them." });
    const key = profile === undefined ? "models.default" : `profiles.${profile}.model`;
    const { config: _, ...done } = await setConfigValue(context, key, JSON.stringify(model));
    const lines = [setText(done), `Try it with \`rookery models test ${model}\`.`];
    return printResult(context, { model, ...done }, context.here(lines.join("\n")));
  },
});

function testText(tried: TriedModel): readonly string[] {
  const { model, ok, problem, answer, firstMs, totalMs, usage, cost, price, contextWindow, maxTokens, features } =
    tried;
  const can = features && [
    features.thinking.length > 1 ? `thinking ${features.thinking.join(" ")}` : "no thinking",
    features.images ? "images" : "no images",
    features.tools ? "tools" : "no tools",
  ];
  return [
    ok
      ? `${model} answered: ${oneLine(answer || "(nothing)", 80)}`
      : `${model} did not answer: ${oneLine(problem ?? "", 400)}`,
    ...(model === "offline"
      ? ["The offline model is not an LLM. Set a key with `rookery models keys add anthropic`."]
      : []),
    `Latency   ${firstMs === null ? "n/a" : `${firstMs} ms`} to the first word, ${totalMs} ms in all`,
    `Tokens    ${usage ? `${usage.input} in, ${usage.output} out` : "n/a"}`,
    `Price     ${price ? `$${price.input}/$${price.output} per million` : "n/a"}; this call ${cost === null ? "n/a" : `$${cost.toFixed(6)}`}`,
    `Window    ${contextWindow === null ? "n/a" : `${size(contextWindow)} in, ${size(maxTokens ?? 0)} out`}`,
    `Features  ${can ? can.join(", ") : "n/a"}`,
  ];
}

export const modelsCommand: Group = {
  summary: "show the models and which one is used; test or set one; keys and logins of providers",
  actions: { list, test, set, keys: keysGroup, login, logout, logins },
  fallback: "list",
  fallbackTakesWords: true,
};

function modelsText({ using, providers }: DescribedModels): readonly string[] {
  return [
    `In use: ${using.model}, because ${using.why}.`,
    ...(using.fallbacks.length > 0 ? [`Fallbacks: ${using.fallbacks.join(", ")}`] : []),
    ...(using.thinking === undefined ? [] : [`Thinking: ${using.thinking}`]),
    ...(using.model === "offline"
      ? ["The offline model is not an LLM. Set a key with `rookery models keys add anthropic`, or start Ollama."]
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

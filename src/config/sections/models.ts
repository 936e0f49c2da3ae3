/** Which models there are and which one is used. A model is named `provider/id`. */
import { secretSchema } from "../secret.ts";
import { amount, httpUrl, list, named, section, text, wholeNumber } from "../values.ts";

export const modelDefaults = {
  contextWindow: 200_000,
  maxTokens: 8_192,
  /** Dollars for a million tokens. */
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
} as const;

const modelName = () =>
  text('a model as "provider/id"').regex(/^[A-Za-z0-9][A-Za-z0-9._-]*\/\S+$/, 'expected a model as "provider/id"');

const costSchema = section({
  input: amount().default(modelDefaults.cost.input),
  output: amount().default(modelDefaults.cost.output),
  cacheRead: amount().default(modelDefaults.cost.cacheRead),
  cacheWrite: amount().default(modelDefaults.cost.cacheWrite),
}).prefault({});

const modelSchema = section({
  id: text("the model's id as its provider names it"),
  contextWindow: wholeNumber(1, 100_000_000).default(modelDefaults.contextWindow),
  maxTokens: wholeNumber(1, 100_000_000).default(modelDefaults.maxTokens),
  cost: costSchema,
});

const providerSchema = section({
  api: text('the name of an API, such as "openai-completions"'),
  baseUrl: httpUrl(),
  apiKey: secretSchema.optional(),
  models: list(modelSchema).prefault([]),
});

export const modelsSchema = section({
  default: modelName().optional(),
  fallbacks: list(modelName()).prefault([]),
  providers: named(providerSchema).prefault({}),
}).prefault({});

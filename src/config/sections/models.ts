/** The models and the default one. A model is named `provider/id`. */
import { z } from "zod";
import { knownProvider } from "../known-providers.ts";
import { secretSchema } from "../secret.ts";
import { amount, httpUrl, list, named, oneOf, section, text, wholeNumber } from "../values.ts";

export const modelDefaults = {
  contextWindow: 200_000,
  maxTokens: 8_192,
  /** Dollars per million tokens. */
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
} as const;

/** Defaults of each provider, applied where a provider is used. */
export const providerDefaults = { maxConcurrent: 64, stallSeconds: 180 } as const;

const cliDefaults = { output: "json", env: [] as readonly string[] } as const;

const MODEL = 'a model as "provider/id"';

/** `offline` is the model that needs no network and no key. */
export const modelNameSchema = () =>
  text(MODEL).regex(/^(?:[A-Za-z0-9][A-Za-z0-9._-]*\/\S+|offline)$/, `expected ${MODEL}`);

export const thinkingSchema = () => oneOf(["off", "minimal", "low", "medium", "high", "xhigh"]);

const costSchema = section({
  input: amount().default(modelDefaults.cost.input).describe("dollars per million input tokens"),
  output: amount().default(modelDefaults.cost.output).describe("dollars per million output tokens"),
  cacheRead: amount()
    .default(modelDefaults.cost.cacheRead)
    .describe("dollars per million tokens read from the provider's cache"),
  cacheWrite: amount()
    .default(modelDefaults.cost.cacheWrite)
    .describe("dollars per million tokens written to the provider's cache"),
}).prefault({});

const modelSchema = section({
  id: text("the model's id as its provider names it").describe("the name of the model at the provider"),
  contextWindow: wholeNumber(1, 100_000_000)
    .default(modelDefaults.contextWindow)
    .describe("the size of its context in tokens"),
  maxTokens: wholeNumber(1, 100_000_000).default(modelDefaults.maxTokens).describe("the longest answer in tokens"),
  cost: costSchema,
  thinking: list(thinkingSchema())
    .optional()
    .describe("the thinking levels it supports, with `off` if thinking can be turned off"),
  images: z.boolean({ error: "expected true or false" }).optional().describe("whether it reads images"),
});

const API = 'the name of an API, such as "openai-completions"';

/** The APIs that there are adaptors for; the short names stand for the newest of a vendor. */
const APIS = [
  ...(["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai", "ollama"] as const),
  ...(["openai", "anthropic", "google", "cli"] as const),
] as const;

/** A program on this machine that answers as a model, for the API "cli". */
const cliSchema = section({
  command: list(text("a program or an argument")).describe(
    'for `api: "cli"`: the program and its arguments, with `{model}`, `{system}` and `{prompt}`',
  ),
  resume: list(text("a program or an argument"))
    .optional()
    .describe("the command that continues the session `{sessionId}`"),
  output: oneOf(["json", "text"]).default(cliDefaults.output).describe("what the program prints"),
  env: list(text("the name of a variable"))
    .default(cliDefaults.env)
    .describe("variables of this process that the program gets"),
});

const providerSchema = section({
  cli: cliSchema.optional(),
  api: oneOf(APIS).optional().describe("the protocol of the provider; not needed for known names"),
  baseUrl: httpUrl().optional().describe("its address, without a password; not needed for known names"),
  apiKey: secretSchema.optional().describe("its key"),
  apiKeys: named(secretSchema)
    .optional()
    .describe("more keys, each under the name of its auth profile, tried in this order"),
  maxConcurrent: wholeNumber(1, 100_000).optional().describe("concurrent calls; 64 if it is not set"),
  stallSeconds: wholeNumber(1, 300)
    .optional()
    .describe("a call that receives nothing for this long is ended and retried; 180 if it is not set"),
  models: list(modelSchema).prefault([]),
});

const providersSchema = named(providerSchema).superRefine((providers, context) => {
  for (const [name, { api, baseUrl, cli }] of Object.entries(providers)) {
    if (cli) {
      const isWhole = api === "cli" && cli.command.length > 0;
      if (!isWhole) context.addIssue({ code: "custom", path: [name], message: 'expected api: "cli" and a command' });
      continue;
    }
    if (knownProvider(name)) continue;
    const missing = (key: string, what: string): void =>
      context.addIssue({ code: "custom", path: [name, key], message: `expected ${what}` });
    if (api === undefined) missing("api", API);
    if (baseUrl === undefined) missing("baseUrl", "an address that begins with http:// or https://");
  }
});

export const modelsSchema = section({
  default: modelNameSchema().optional().describe('the model if a profile names none; `"offline"` needs no provider'),
  fallbacks: list(modelNameSchema()).prefault([]).describe("models to try, in order, if the first one fails"),
  thinking: thinkingSchema()
    .optional()
    .describe("the thinking level; a model that does not support it uses a lower one"),
  providers: providersSchema.prefault({}),
})
  .prefault({})
  .meta({ description: "providers and their models; a model is named `provider/id`", page: "models.md" });

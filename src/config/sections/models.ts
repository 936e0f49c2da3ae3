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
  thinking: list(thinkingSchema()).optional(),
  images: z.boolean({ error: "expected true or false" }).optional(),
});

const API = 'the name of an API, such as "openai-completions"';

/** The APIs that there are adaptors for; the short names stand for the newest of a vendor. */
const APIS = [
  ...(["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai", "ollama"] as const),
  ...(["openai", "anthropic", "google", "cli"] as const),
] as const;

/** A program on this machine that answers as a model, for the API "cli". */
const cliSchema = section({
  /** The program and its arguments. `{model}`, `{system}` and `{prompt}` are replaced; without `{prompt}` it is the input. */
  command: list(text("a program or an argument")),
  /** The same to go on with the session `{sessionId}`. */
  resume: list(text("a program or an argument")).optional(),
  output: oneOf(["json", "text"]).default(cliDefaults.output),
  /** Variables that it gets besides the usual ones. */
  env: list(text("the name of a variable")).default(cliDefaults.env),
});

const providerSchema = section({
  cli: cliSchema.optional(),
  api: oneOf(APIS).optional(),
  baseUrl: httpUrl().optional(),
  apiKey: secretSchema.optional(),
  /** More keys, each under the name of its auth profile, in the order they are used. */
  apiKeys: named(secretSchema).optional(),
  maxConcurrent: wholeNumber(1, 100_000).optional(),
  /** The platform's own HTTP client gives up after 300. */
  stallSeconds: wholeNumber(1, 300).optional(),
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
  default: modelNameSchema().optional(),
  fallbacks: list(modelNameSchema()).prefault([]),
  thinking: thinkingSchema().optional(),
  providers: providersSchema.prefault({}),
}).prefault({});

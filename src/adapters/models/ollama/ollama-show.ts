/**
 * What an Ollama server says about a model: its window and what it can do. The server uses a window of 4,096 tokens or so unless a
 * request names another one, and cuts longer prompts silently.
 */
import { trimCharsEnd } from "../../../core/trim-chars.ts";
import type { ThinkingLevel } from "../thinking.ts";

interface OllamaModel {
  readonly contextWindow: number;
  readonly images: boolean;
  readonly tools: boolean;
  readonly thinking: readonly ThinkingLevel[];
}

/** A larger window costs memory that a usual machine does not have. `contextWindow` in the configuration asks for more. */
const MAX_ASKED_WINDOW = 32_768;
const TIMEOUT_MS = 3_000;
/** How long an answer holds, and how long a server that does not answer is not asked again. */
const KEPT_MS = 300_000;
const FAILED_MS = 10_000;

/** The address of the server: its OpenAI API is below `/v1`. */
export const serverOf = (baseUrl: string): string => trimCharsEnd(baseUrl, "/").replace(/\/v1$/u, "");

interface ShowDeps {
  readonly fetch: typeof fetch;
  readonly monotonic: () => number;
}

/** Asks once per model, and again after a while. */
export class OllamaModels {
  readonly #deps: ShowDeps;
  readonly #known = new Map<string, { readonly until: number; readonly asked: Promise<OllamaModel | undefined> }>();

  constructor(deps: ShowDeps) {
    this.#deps = deps;
  }

  /** Undefined if the server does not answer or does not know the model. */
  async show(baseUrl: string, id: string): Promise<OllamaModel | undefined> {
    const key = `${baseUrl} ${id}`;
    const now = this.#deps.monotonic();
    const known = this.#known.get(key);
    if (known && known.until > now) return known.asked;
    const asked = show(this.#deps.fetch, baseUrl, id).catch(() => undefined);
    this.#known.set(key, { until: now + KEPT_MS, asked });
    const model = await asked;
    if (!model) this.#known.set(key, { until: now + FAILED_MS, asked });
    return model;
  }
}

interface Shown {
  readonly model_info?: Readonly<Record<string, unknown>>;
  readonly parameters?: unknown;
  readonly capabilities?: unknown;
}

async function show(get: typeof fetch, baseUrl: string, model: string): Promise<OllamaModel | undefined> {
  const response = await get(`${serverOf(baseUrl)}/api/show`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model }),
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return response.ok ? readShown((await response.json()) as Shown) : undefined;
}

function readShown({ model_info: info = {}, parameters, capabilities }: Shown): OllamaModel | undefined {
  const trained = Object.entries(info).find(([name]) => name.endsWith(".context_length"))?.[1];
  if (typeof trained !== "number" || !Number.isSafeInteger(trained) || trained < 1) return undefined;
  const set = /^num_ctx\s+(\d{1,9})\s*$/mu.exec(typeof parameters === "string" ? parameters.slice(0, 10_000) : "")?.[1];
  const can = (name: string): boolean => !Array.isArray(capabilities) || capabilities.includes(name);
  return {
    contextWindow: Math.min(trained, set === undefined ? MAX_ASKED_WINDOW : Number(set)),
    images: Array.isArray(capabilities) && can("vision"),
    tools: can("tools"),
    thinking: Array.isArray(capabilities) && can("thinking") ? ["off", "low", "medium", "high"] : ["off"],
  };
}

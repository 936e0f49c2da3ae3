/**
 * One short live call of one model: whether it answers, how fast, what it costs, and what it can do. No fallback is used. Keys
 * that rest after a refusal are tried.
 */
import type { Config } from "../../config/config-schema.ts";
import { DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { InvalidInputError } from "../../core/errors.ts";
import type { Usage } from "../../core/history/entry.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { modelProblem } from "./check-choice.ts";
import { AUTO, chooseModel } from "./choose-model.ts";
import type { OpenModels } from "./open-models.ts";
import { splitModelName } from "./provider-model.ts";

export interface TriedModel {
  readonly model: string;
  readonly ok: boolean;
  /** What is wrong, if it did not answer. */
  readonly problem?: string;
  readonly answer?: string;
  /** Until the first part of the answer arrived, and until it was complete. */
  readonly firstMs: number | null;
  readonly totalMs: number;
  /** Null: the provider did not count. */
  readonly usage: Pick<Usage, "input" | "output" | "totalTokens"> | null;
  /** Of this call, in dollars. Null: no price is known. */
  readonly cost: number | null;
  /** Dollars per million tokens. Null: not known. */
  readonly price: { readonly input: number; readonly output: number } | null;
  readonly contextWindow: number | null;
  readonly maxTokens: number | null;
  readonly features: {
    readonly thinking: readonly string[];
    readonly images: boolean;
    readonly tools: boolean;
  } | null;
}

const QUESTION = "Answer with the word ready.";
/** Enough for a model that thinks a little although it was not asked to. */
const MAX_TOKENS = 1_024;
const MAX_ANSWER = 200;

/** `wanted`: default is the model in use. Throws `InvalidInputError` for an unknown model. */
export async function testModel(
  config: Pick<Config, "models" | "profiles">,
  models: Pick<OpenModels, "model" | "providers" | "detect">,
  clock: Clock,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<TriedModel> {
  const chosen = chooseModel(config, DEFAULT_PROFILE, { modelOverride: wanted });
  const isNamed = wanted !== undefined || chosen.warnings.length > 0;
  const problem = isNamed ? await modelProblem(config, models, wanted ?? chosen.model) : undefined;
  if (problem !== undefined) throw new InvalidInputError(problem, { hint: "Run `rookery models` to see them." });
  return tryModel(models, clock, chosen.model === AUTO ? (await models.detect()).model : chosen.model, signal);
}

async function tryModel(
  models: Pick<OpenModels, "model" | "providers">,
  clock: Clock,
  model: string,
  signal: AbortSignal,
): Promise<TriedModel> {
  models.providers.provider(splitModelName(model)?.provider ?? "")?.keys.endPauses();
  const from = clock.monotonic();
  let firstMs: number | null = null;
  const result = await models.model.call(
    {
      model,
      system: "",
      messages: [{ role: "user", content: [{ type: "text", text: QUESTION }] }],
      tools: [],
      sessionId: "models-test",
      maxTokens: MAX_TOKENS,
      tries: Number.MAX_SAFE_INTEGER,
    },
    signal,
    () => {
      firstMs ??= Math.round(clock.monotonic() - from);
    },
  );
  const totalMs = Math.round(clock.monotonic() - from);
  const known = model === "offline" ? undefined : await models.providers.model(model);
  const isPriced = known !== undefined && (known.cost.input > 0 || known.cost.output > 0);
  const { usage } = result;
  const answer = result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return {
    model,
    ok: result.error === undefined,
    problem: result.error?.message,
    answer: result.error ? undefined : answer.trim().slice(0, MAX_ANSWER),
    firstMs,
    totalMs,
    usage: usage ? { input: usage.input, output: usage.output, totalTokens: usage.totalTokens } : null,
    cost: isPriced ? (usage?.cost?.total ?? null) : null,
    price: isPriced ? { input: known.cost.input, output: known.cost.output } : null,
    contextWindow: known?.contextWindow ?? null,
    maxTokens: known?.maxTokens ?? null,
    features: known ? { thinking: known.thinking, images: known.images, tools: known.tools !== false } : null,
  };
}

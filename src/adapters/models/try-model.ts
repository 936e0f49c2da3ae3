/** One short live call of one model: whether it answers, how fast, what it costs, and what it can do. No fallback is used. */
import type { Usage } from "../../core/history/entry.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { AUTO } from "./choose-model.ts";
import type { OpenModels } from "./open-models.ts";

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

export async function tryModel(
  models: Pick<OpenModels, "model" | "providers" | "detect">,
  clock: Clock,
  wanted: string,
  signal: AbortSignal,
): Promise<TriedModel> {
  const model = wanted === AUTO ? (await models.detect()).model : wanted;
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

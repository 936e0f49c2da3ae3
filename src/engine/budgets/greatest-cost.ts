/** The greatest cost of a model call before it is made, and its cost if the provider did not count. Pure. */
import { addSpend, microsOf, NOTHING, type Spend, spendOf } from "../../core/budget/budget.ts";
import type { CallCost } from "../../core/budget/budget-decision.ts";
import type { Block } from "../../core/history/entry.ts";
import type { CallPrice, ModelMessage, ModelRequest, ModelResult } from "../../core/ports/model.ts";

/** Dense code comes close to two characters a token, prose to four, other scripts to three bytes. */
const BYTES_PER_TOKEN = 2;
const IMAGE_TOKENS = 1_600;
/** A message's own frame on the wire. */
const FRAME_TOKENS = 4;
/** Used for a model whose price is unknown. */
export const UNKNOWN_PRICE: CallPrice = {
  contextWindow: Number.MAX_SAFE_INTEGER,
  maxTokens: 8_192,
  leastTokens: 256,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
};

const counted = new WeakMap<ModelMessage, number>();

/** The size of a message, estimated high. Computed once, because messages do not change. */
function messageTokens(message: ModelMessage): number {
  let tokens = counted.get(message);
  if (tokens === undefined) {
    tokens = FRAME_TOKENS + contentTokens(message.content);
    counted.set(message, tokens);
  }
  return tokens;
}

function contentTokens(content: readonly Block[]): number {
  let tokens = 0;
  for (const block of content) tokens += block.type === "image" ? IMAGE_TOKENS : textTokens(JSON.stringify(block));
  return tokens;
}

const textTokens = (text: string): number => Math.ceil(new TextEncoder().encode(text).length / BYTES_PER_TOKEN);

/** The size of a prompt, estimated high: a reservation that is too small would let a budget be exceeded. */
export function estimatePromptTokens(prompt: Pick<ModelRequest, "system" | "messages" | "tools">): number {
  let tokens = textTokens(prompt.system);
  if (prompt.tools.length > 0) tokens += textTokens(JSON.stringify(prompt.tools));
  for (const message of prompt.messages) tokens += messageTokens(message);
  return tokens;
}

/** The most a call can cost: the whole prompt at its highest price, and an answer of full length. */
export function greatestCost(
  promptTokens: number,
  { contextWindow, maxTokens, leastTokens, cost }: CallPrice,
): CallCost {
  return {
    prompt: Math.min(promptTokens, contextWindow),
    maxTokens,
    leastTokens: Math.min(leastTokens, maxTokens),
    // Dollars for a million tokens are millionths of a dollar for one.
    read: Math.max(cost.input, cost.cacheWrite, cost.cacheRead),
    write: cost.output,
  };
}

/** The charge for a call that has ended; `estimated` if the provider did not count. */
interface Charge {
  readonly spend: Spend;
  readonly estimated: boolean;
}

/**
 * What the provider counted. If it did not count: nothing for an answer that never began, otherwise the prompt and the
 * received part of the answer. `unknown` if not even that is known.
 */
export function chargeFor(call: CallCost, reserved: Spend, result: ModelResult): Charge | "unknown" {
  if (result.unheard) return "unknown";
  const failed = (result.alsoUsed ?? []).map(spendOf).reduce(addSpend, NOTHING);
  const { spend, estimated } = chargeForLast(call, reserved, result);
  return { spend: addSpend(spend, failed), estimated };
}

function chargeForLast(call: CallCost, reserved: Spend, { usage, error, content }: ModelResult): Charge {
  if (usage && !error) return { spend: spendOf(usage), estimated: false };
  const began = !error || content.length > 0 || error.class === "aborted";
  if (!usage && !began) return { spend: NOTHING, estimated: false };
  // A provider that broke off had often counted only the prompt.
  const read = usage ? usage.input + usage.cacheRead + usage.cacheWrite : call.prompt;
  const written = Math.max(usage?.output ?? 0, contentTokens(content));
  const micros = usage?.cost
    ? microsOf(usage.cost.total - usage.cost.output) + Math.ceil(written * call.write)
    : Math.ceil(read * call.read + written * call.write);
  // It cannot be more than was reserved, unless the provider counted more.
  const spend = {
    tokens: Math.max(Math.min(read + written, reserved.tokens), usage?.totalTokens ?? 0),
    micros: Math.max(Math.min(micros, reserved.micros), microsOf(usage?.cost?.total ?? 0)),
  };
  return { spend, estimated: true };
}

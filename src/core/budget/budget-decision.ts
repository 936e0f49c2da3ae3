/**
 * Whether a model call may start, and how long its answer may be. Pure. The store decides inside the transaction that
 * reserves, so that two calls at once cannot both get the same money (L8).
 */
import { allowedOf, type BudgetRow, type Limit, type LimitedRow, type Spend } from "./budget.ts";

/** What a call may cost: its prompt, counted high, and an answer of some length, in micros for a token. */
export interface CallCost {
  readonly prompt: number;
  /** The longest answer that is wanted, and the shortest useful one. */
  readonly maxTokens: number;
  readonly leastTokens: number;
  readonly read: number;
  readonly write: number;
}

export type BudgetDecision =
  /** Reserved. The answer must not be longer than `maxTokens`. */
  | { readonly kind: "go"; readonly reserved: Spend; readonly maxTokens: number }
  /** Other calls hold the rest of the budget; their results may free some. */
  | { readonly kind: "wait"; readonly key: string }
  | {
      readonly kind: "reached";
      readonly key: string;
      readonly allowed: Limit;
      readonly spent: Spend;
      /** The cost of the shortest useful call. */
      readonly needed: Spend;
    };

/** A call waits for the others if its answer would be shorter than this. */
const DECENT_ANSWER_TOKENS = 4_096;

export const costOf = ({ prompt, read, write }: CallCost, answer: number): Spend => ({
  tokens: prompt + answer,
  micros: Math.ceil(prompt * read + answer * write),
});

/** A row that is used up counts before one that is only waiting. */
export function decideBudget(
  call: CallCost,
  rows: readonly (LimitedRow & { readonly row: BudgetRow })[],
): BudgetDecision {
  const least = Math.min(call.leastTokens, call.maxTokens);
  const decent = Math.min(DECENT_ANSWER_TOKENS, call.maxTokens);
  let answer = call.maxTokens;
  let waiting: string | undefined;
  for (const { key, limit, row, adds } of rows) {
    const allowed = allowedOf(limit, row.lifted);
    if (adds !== undefined) {
      const needed = { tokens: adds, micros: 0 };
      if (row.spent.tokens + adds > (allowed.tokens ?? 0))
        return { kind: "reached", key, allowed, spent: row.spent, needed };
      continue;
    }
    const atBest = longestAnswer(call, allowed, row.spent);
    if (atBest < least) return { kind: "reached", key, allowed, spent: row.spent, needed: costOf(call, least) };
    const now = longestAnswer(call, allowed, {
      tokens: row.spent.tokens + row.reserved.tokens,
      micros: row.spent.micros + row.reserved.micros,
    });
    if (now < least || (now < decent && now < atBest)) waiting ??= key;
    answer = Math.min(answer, now);
  }
  if (waiting !== undefined) return { kind: "wait", key: waiting };
  return { kind: "go", reserved: costOf(call, answer), maxTokens: answer };
}

/** How long an answer may be, at most as long as wanted; negative if not even the prompt fits. */
function longestAnswer(call: CallCost, { tokens, micros }: Limit, used: Spend): number {
  const longest = tokens === undefined ? call.maxTokens : Math.min(call.maxTokens, tokens - used.tokens - call.prompt);
  return micros === undefined ? longest : affordable(call, micros - used.micros, longest);
}

function affordable(call: CallCost, left: number, wanted: number): number {
  // A limit in money does not stop a call that costs nothing.
  if (call.read === 0 && call.write === 0) return wanted;
  if (costOf(call, wanted).micros <= left) return wanted;
  if (call.write === 0) return -1;
  const answer = Math.floor((left - call.prompt * call.read) / call.write);
  return costOf(call, answer).micros <= left ? answer : answer - 1;
}

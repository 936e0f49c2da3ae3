/** Adds up what models report: per run, and over an agent's life by provider and model. Never estimates. */
import type { Usage } from "../core/entry.ts";
import type { ModelResult } from "../core/model.ts";
import type { AgentState, TokenSize } from "../core/state.ts";

export function addUsage(sum: Usage | undefined, more: Usage | undefined): Usage | undefined {
  if (!sum || !more) return sum ?? more;
  const cost =
    sum.cost && more.cost
      ? {
          input: sum.cost.input + more.cost.input,
          output: sum.cost.output + more.cost.output,
          cacheRead: sum.cost.cacheRead + more.cost.cacheRead,
          cacheWrite: sum.cost.cacheWrite + more.cost.cacheWrite,
          total: sum.cost.total + more.cost.total,
        }
      : (sum.cost ?? more.cost);
  return {
    input: sum.input + more.input,
    output: sum.output + more.output,
    cacheRead: sum.cacheRead + more.cacheRead,
    cacheWrite: sum.cacheWrite + more.cacheWrite,
    totalTokens: sum.totalTokens + more.totalTokens,
    ...(cost ? { cost } : {}),
  };
}

/** The state after a call: the last inference's numbers, and the sums. */
export function countUsage(state: AgentState, { provider, model, usage }: ModelResult): AgentState {
  if (!usage) return state;
  const { input, output, cacheRead, cacheWrite, totalTokens: total } = usage;
  const size: TokenSize = { input, output, cacheRead, cacheWrite, total };
  const before = state.stats[provider]?.[model];
  const sum: TokenSize = before
    ? {
        input: before.input + input,
        output: before.output + output,
        cacheRead: before.cacheRead + cacheRead,
        cacheWrite: before.cacheWrite + cacheWrite,
        total: before.total + total,
      }
    : size;
  const stats = { ...state.stats, [provider]: { ...state.stats[provider], [model]: sum } };
  return { ...state, tokens: { provider, model, size }, stats, providerId: provider };
}

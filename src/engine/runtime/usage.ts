/** Adds up what models report: per run, and over an agent's life by provider and model. Never estimates. */

import type { SkillsSnapshot } from "../../core/agent/skills-snapshot.ts";
import type { AgentState, TokenSize } from "../../core/agent/state.ts";
import type { SystemPromptReport } from "../../core/agent/system-prompt-report.ts";
import type { Usage } from "../../core/history/entry.ts";
import type { ModelResult } from "../../core/ports/model.ts";
import { isMarkedPrompt, markedState } from "../people/untrusted.ts";

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
    cost,
    unknown:
      sum.unknown && more.unknown ? [...new Set([...sum.unknown, ...more.unknown])] : (sum.unknown ?? more.unknown),
  };
}

/** An agent's state after a model call: its usage counted, the parts of its prompt if they have changed, its skills if they are new. */
export function stateAfterCall(
  state: AgentState,
  { report, skillsSnapshot }: { readonly report?: SystemPromptReport; readonly skillsSnapshot?: SkillsSnapshot } = {},
  result: ModelResult,
): AgentState {
  const skills = skillsSnapshot && { skillsSnapshot };
  const counted = { ...countUsage(state, result), ...callFacts(result), ...skills };
  const isNew = report && JSON.stringify(report) !== JSON.stringify(state.systemPromptReport);
  const described = isNew ? { ...counted, systemPromptReport: report } : counted;
  const known = withCliSession(described, result);
  return markedState(known, isMarkedPrompt(report)) ?? known;
}

/** The session of a program is committed with its answer: after a crash in between it gets the whole conversation. */
function withCliSession(state: AgentState, { cliSession }: ModelResult): AgentState {
  if (!cliSession || state.cliSessionIds?.[cliSession.provider] === cliSession.id) return state;
  const { provider, id } = cliSession;
  const cliSessionIds = { ...state.cliSessionIds, [provider]: id };
  return { ...state, cliSessionIds, claudeCliSessionId: provider === CLAUDE_CLI ? id : state.claudeCliSessionId };
}

/** clawdbot kept the session of this provider in a field of its own, and older programs still read it there. */
const CLAUDE_CLI = "claude-cli";

/** The sessions of programs, including one that an older program has written. */
export const cliSessionsIn = ({ cliSessionIds, claudeCliSessionId }: AgentState): AgentState["cliSessionIds"] =>
  claudeCliSessionId === undefined ? cliSessionIds : { [CLAUDE_CLI]: claudeCliSessionId, ...cliSessionIds };

/** The numbers of the last call, and the sums. */
function countUsage(state: AgentState, { provider, model, usage }: ModelResult): AgentState {
  if (!usage) return state;
  const counted = countSpent(state, provider, model, usage);
  return { ...counted, tokens: { provider, model, size: sizeOf(usage) }, providerId: provider };
}

/** The sums alone: for calls that are not a turn of the conversation. */
export function countSpent(state: AgentState, provider: string, model: string, usage: Usage): AgentState {
  const size = sizeOf(usage);
  const before = state.stats[provider]?.[model];
  const sum: TokenSize = before
    ? {
        input: before.input + size.input,
        output: before.output + size.output,
        cacheRead: before.cacheRead + size.cacheRead,
        cacheWrite: before.cacheWrite + size.cacheWrite,
        total: before.total + size.total,
      }
    : size;
  return { ...state, stats: { ...state.stats, [provider]: { ...state.stats[provider], [model]: sum } } };
}

const sizeOf = ({ input, output, cacheRead, cacheWrite, totalTokens: total }: Usage): TokenSize => ({
  input,
  output,
  cacheRead,
  cacheWrite,
  total,
});

/** The last call, as its provider counted it: `totalTokens` is what the context filled. */
function callFacts({
  provider,
  model,
  usage,
}: {
  provider: string;
  model: string;
  usage?: Usage;
}): Partial<AgentState> {
  if (!usage) return {};
  const { input, output, cacheRead, cacheWrite } = usage;
  return {
    systemSent: true,
    modelProvider: provider,
    model,
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + cacheRead + cacheWrite,
  };
}

/**
 * The limits of tokens that minted each other (L8): what all people below a token spend, with everything their messages start, stays
 * within its limit; every call is counted for every token above, once; no more messages are answered than allowed.
 */

import type { Spend } from "../../../src/core/budget/budget.ts";
import { TODAY } from "../world/today.ts";
import { tokensAbove } from "../world/token-tree.ts";
import { broken, parsed, type View, type Violation } from "./audit-view.ts";
import type { ListedAgent } from "./evidence.ts";

export function* tokenTree(view: View): Iterable<Violation> {
  const { tokens } = view.scenario;
  if (!tokens) return;
  const book = new Map(view.budgets.map((row) => [row.key, row]));
  const users = writers(view);
  for (const { id, limit } of tokens) {
    const below = view.listed.filter((one) => {
      const user = users.get(one);
      return user !== undefined && tokensAbove(tokens, user).some((token) => token.id === id);
    });
    yield* spending(view, below, `token:${TODAY}:${id}`, limit, book.get(`token:${TODAY}:${id}`));
    if (limit.messages === undefined) continue;
    const counted = book.get(`messages:${TODAY}:token:${id}`)?.spent.tokens ?? 0;
    const fromPeople = below.flatMap(({ messages }) =>
      messages.filter(({ body, source }) => body.kind === "user" && source),
    );
    const answered = fromPeople.filter(({ state }) => state === "answered" || state === "merged").length;
    // A run that was refused before its first call has counted nothing, unless a crash lost that call.
    const runs = new Map(below.flatMap((one) => one.runs.map((run) => [run.id, run])));
    const tried = fromPeople.filter(({ runId }) => {
      const run = runId && runs.get(runId);
      return run && (run.body.error?.kind !== "budget" || run.body.counted !== undefined);
    }).length;
    if (answered > limit.messages) yield broken("L8", `${id}: ${answered} messages were answered of ${limit.messages}`);
    if (counted < answered) yield broken("L8", `${id}: ${answered} messages were answered, ${counted} are counted`);
    const most = Math.min(limit.messages, tried);
    if (counted > most) yield broken("M21", `${id}: ${counted} messages are counted, at most ${most} can be`);
  }
}

interface Row {
  readonly spent: Spend;
  readonly estimated: Spend;
}

function* spending(
  view: View,
  below: readonly ListedAgent[],
  key: string,
  limit: Partial<Spend>,
  row: Row | undefined,
): Iterable<Violation> {
  const sessions = new Set(below.flatMap(({ lines }) => lines.map(parsed).flatMap(({ sessionId }) => sessionId ?? [])));
  const calls = view.calls.filter(({ sessionId }) => sessions.has(sessionId));
  for (const unit of ["tokens", "micros"] as const) {
    const most = limit[unit];
    if (most === undefined) continue;
    const charged = calls.reduce((sum, call) => sum + call.charged[unit], 0);
    const counted = row?.spent[unit] ?? 0;
    const known = counted - (row?.estimated[unit] ?? 0);
    if (charged > most) yield broken("L8", `${key}: the model charged ${charged} ${unit}, the limit is ${most}`);
    if (counted < charged) yield broken("L8", `${key}: the model charged ${charged} ${unit}, ${counted} are counted`);
    if (known > charged) yield broken("M21", `${key}: ${known} ${unit} are counted, the model charged ${charged}`);
  }
}

/** The person whose message each agent works for: its own, or that of the agent at the top of its tree. */
function writers({ listed }: View): ReadonlyMap<ListedAgent, string> {
  const byId = new Map(listed.map((one) => [String(one.agent.id), one]));
  const writerOf = (one: ListedAgent): string | undefined => {
    const { descriptor } = one.agent;
    if (descriptor.type === "user") return descriptor.userId;
    const parent = descriptor.type === "subagent" ? byId.get(descriptor.parentAgentId) : undefined;
    return parent && writerOf(parent);
  };
  return new Map(listed.flatMap((one) => (writerOf(one) === undefined ? [] : [[one, writerOf(one) as string]])));
}

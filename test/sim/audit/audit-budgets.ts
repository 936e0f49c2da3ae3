/**
 * Budgets, by the model's own record of charges: they never pass a limit (L8), since a call never costs more than its
 * reservation; every charge is in the store, nothing stays reserved, people get one notice (M21).
 */

import type { Limit, Spend } from "../../../src/core/budget/budget.ts";
import type { ModelCall } from "../world/model-call.ts";
import { SIM_PRICE } from "../world/scripted-model.ts";
import { TODAY } from "../world/today.ts";
import { broken, budgetNotice, isBudgetNotice, parsed, type View, type Violation } from "./audit-view.ts";
import type { ListedAgent } from "./evidence.ts";

export function* budgets(view: View): Iterable<Violation> {
  for (const { id } of view.reservations) yield broken("liveness", `${id} is still reserved`);
  for (const { key, reserved } of view.budgets) {
    if (reserved.tokens !== 0 || reserved.micros !== 0)
      yield broken("liveness", `something is still reserved on ${key}`);
  }
  if (!view.scenario.budgets && !view.scenario.tokens) return;
  yield* withinLimits(view);
  yield* toldOnce(view);
}

interface Purse {
  readonly limit: Limit;
  readonly calls: ModelCall[];
  refused: number;
}

function* withinLimits(view: View): Iterable<Violation> {
  const book = new Map(view.budgets.map((row) => [row.key, row]));
  for (const [key, { limit, calls, refused }] of pursesOf(view)) {
    const charged = calls.reduce(add, { tokens: 0, micros: 0 });
    const row = book.get(key);
    for (const unit of ["tokens", "micros"] as const) {
      const most = limit[unit];
      if (most !== undefined && charged[unit] > most)
        yield broken("L8", `${key}: the model charged ${charged[unit]} ${unit}, the limit is ${most}`);
      const counted = row?.spent[unit] ?? 0;
      if (counted < charged[unit])
        yield broken("L8", `${key}: the model charged ${charged[unit]} ${unit}, only ${counted} are stored`);
      const known = counted - (row?.estimated[unit] ?? 0);
      if (known > charged[unit])
        yield broken("M21", `${key}: ${known} ${unit} are stored as counted, the model charged ${charged[unit]}`);
    }
    // A refusal is right only if the next call did not fit; earlier reservations are spent or released by now.
    const prompt = Math.max(0, ...calls.map((call) => call.prompt)) * 3 + 2_000;
    const needed = { tokens: prompt + SIM_PRICE.leastTokens, micros: prompt + SIM_PRICE.leastTokens * 10 };
    const room = (["tokens", "micros"] as const).every((unit) => {
      const most = limit[unit];
      return most === undefined || most - (row?.spent[unit] ?? 0) >= needed[unit];
    });
    if (refused > 0 && room) yield broken("M21", `${key}: ${refused} runs were ended, but there was room`);
  }
}

const add = (sum: Spend, { charged }: ModelCall): Spend => ({
  tokens: sum.tokens + charged.tokens,
  micros: sum.micros + charged.micros,
});

/** Each budget with the calls that count towards it, and the runs that only this budget can have ended. */
function pursesOf({ scenario, listed, calls }: View): ReadonlyMap<string, Purse> {
  const purses = new Map<string, Purse>();
  const scopes = Object.entries(scenario.budgets ?? {}) as [string, Limit][];
  const byId = new Map(listed.map((one) => [String(one.agent.id), one]));
  const bySession = new Map<string, ListedAgent>();
  for (const one of listed) {
    for (const line of one.lines.map(parsed)) if (line.sessionId) bySession.set(line.sessionId, one);
  }
  const rootOf = (one: ListedAgent): ListedAgent => {
    const { descriptor } = one.agent;
    const parent = descriptor.type === "subagent" ? byId.get(descriptor.parentAgentId) : undefined;
    return parent ? rootOf(parent) : one;
  };
  const keyOf = (scope: string, one: ListedAgent): string => {
    const root = rootOf(one).agent;
    if (scope === "day") return `day:${TODAY}`;
    if (scope === "person") {
      const { descriptor } = root;
      if (descriptor.type !== "user") return "none";
      // The first person of the workload is the owner, on every channel.
      return `person:${TODAY}:${descriptor.userId === "u1" ? "owner" : `${descriptor.connector}:${descriptor.userId}`}`;
    }
    return `${scope}:${scope === "tree" ? root.id : one.agent.id}`;
  };
  const purse = (key: string, limit: Limit): Purse => {
    const known = purses.get(key) ?? { limit, calls: [], refused: 0 };
    purses.set(key, known);
    return known;
  };
  for (const call of calls) {
    const one = bySession.get(call.sessionId);
    if (one) for (const [scope, limit] of scopes) purse(keyOf(scope, one), limit).calls.push(call);
  }
  for (const one of listed) {
    const refused = one.runs.filter(({ body }) => body.error?.kind === "budget").length;
    const [only, ...others] = scopes;
    if (only && others.length === 0) purse(keyOf(only[0], one), only[1]).refused += refused;
  }
  return purses;
}

/** Each conversation gets one notice per used-up budget, and no run ends for a budget without a notice. */
function* toldOnce({ listed }: View): Iterable<Violation> {
  for (const { agent, runs, deliveries } of listed) {
    const notices = new Map<string, number>();
    for (const notice of deliveries.filter(isBudgetNotice)) {
      const whose = budgetNotice(notice).split(" is ")[0] ?? "";
      notices.set(whose, (notices.get(whose) ?? 0) + 1);
    }
    for (const [whose, times] of notices) {
      if (times > 1) yield broken("M21", `${agent.id} got ${times} notices: ${whose}`);
    }
    const met = runs.some(({ body }) => body.error?.kind === "budget" && body.delivery);
    if (met && notices.size === 0) yield broken("M21", `${agent.id} met a budget and got no notice`);
  }
}

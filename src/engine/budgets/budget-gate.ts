/**
 * The gate before every model call: the greatest cost is reserved in a separate commit, and the actual cost replaces the
 * reservation in the run's next commit (L8, M21). Without limits nothing is committed or counted.
 */

import type { AgentRecord } from "../../core/agent/agent.ts";
import { type Budgets, limitedRows, limitedScopes, reachedText, type Spend } from "../../core/budget/budget.ts";
import type { CallCost } from "../../core/budget/budget-decision.ts";
import { InvariantError } from "../../core/errors.ts";
import type { Behalf, DayLimit } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { ModelRequest, ModelResult } from "../../core/ports/model.ts";
import { saidIn } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { chargeFor, estimatePromptTokens, greatestCost, UNKNOWN_PRICE } from "./greatest-cost.ts";
import { spenderOf } from "./spender.ts";

/** A reservation for one call. */
export interface Permit {
  readonly id: string;
  readonly call: CallCost;
  readonly reserved: Spend;
  readonly maxTokens: number;
}

/** A budget that is used up, and the text that announces it. */
export interface ReachedBudget {
  readonly key: string;
  readonly text: string;
  /** Whether this agent has announced it before. */
  readonly announced: boolean;
}

export type Permission =
  /** Without a permit: there is no limit. */
  | { readonly kind: "go"; readonly permit?: Permit }
  | { readonly kind: "reached"; readonly reached: ReachedBudget }
  /** The run was asked to end during the wait. */
  | { readonly kind: "ended" };

/** How long to wait before asking again, if other calls hold the rest of the budget. */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 3_000;

const FREE: Permission = { kind: "go" };

/** May throw `CommitRefused`, like every commit of the run. */
export async function askPermission(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  request: ModelRequest,
): Promise<Permission> {
  const { clock } = ports;
  const budgets = ports.budgets();
  const limits = budgets.limitsFor(lease.record);
  const { person, limits: personal } = await limitsOfPerson(budgets, run.body.behalf);
  if (limitedScopes(limits).length === 0 && personal.length === 0) return FREE;
  const price = (await ports.model.price?.(request)) ?? UNKNOWN_PRICE;
  const call = greatestCost(estimatePromptTokens(request), price);
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
    if (run.signal.aborted) return { kind: "ended" };
    // Read each time: midnight may pass during the wait.
    const spender = await spenderOf(ports.store, budgets, lease.record, run.body, clock.now());
    const rows = limitedRows(limits, { ...spender, person: person ?? spender.person, limits: personal });
    if (rows.length === 0) return FREE;
    const id = ports.ids.uuid();
    const counted = rows.some(({ adds }) => adds !== undefined) ? saidIn(run.body) : undefined;
    const body = counted === undefined ? undefined : { ...run.body, counted, trial: run.trial };
    const op: Op = { op: "budget.reserve", id, runId: run.id, call, rows, counted: body };
    const { results } = await lease.commit({ site: "reserve", ops: [op], run: run.guard() });
    const [answer] = results;
    if (answer?.op !== "budget.reserve") throw new InvariantError("The store did not answer a reservation.");
    const { decision, told } = answer;
    switch (decision.kind) {
      case "go":
        if (counted !== undefined) run.body = { ...run.body, counted };
        return { kind: "go", permit: { id, call, reserved: decision.reserved, maxTokens: decision.maxTokens } };
      case "reached": {
        const { key, allowed, spent, needed } = decision;
        return { kind: "reached", reached: { key, announced: told, text: reachedText(key, allowed, spent, needed) } };
      }
      case "wait":
        ports.log.debug("a model call waits until other calls release their part of a budget", {
          run: run.id,
          key: decision.key,
        });
        await sleep(clock, wait, run.signal);
    }
  }
}

/** The run's person, the limits that travel with the run, and those of the person's record. */
async function limitsOfPerson(
  budgets: Budgets,
  behalf: Behalf | undefined,
): Promise<{ readonly person?: PersonId; readonly limits: readonly DayLimit[] }> {
  if (!behalf) return { limits: [] };
  const { person, limits = [] } = behalf;
  const { id, limit } = (await budgets.personNow?.(person)) ?? { id: person };
  return { person: id, limits: limit ? [...limits, { of: "person", id, ...limit }] : limits };
}

/** Whether what an agent spends for these people must be reserved. */
export async function isSpendingLimited(
  budgets: Budgets,
  agent: AgentRecord,
  behalf: Behalf | undefined,
): Promise<boolean> {
  return (
    limitedScopes(budgets.limitsFor(agent)).length > 0 || (await limitsOfPerson(budgets, behalf)).limits.length > 0
  );
}

/** Adds the charge for an ended call to the run's next commit. */
export function settleCall(lease: AgentLease, { id, call, reserved }: Permit, result: ModelResult): void {
  const charge = chargeFor(call, reserved, result);
  if (charge === "unknown") lease.alsoCommit({ op: "budget.settle", id, actual: "unknown" });
  else {
    const { spend: actual, estimated } = charge;
    lease.alsoCommit({ op: "budget.settle", id, actual, estimated: estimated || undefined });
  }
}

/**
 * Daily quotas of API tokens and API users. A message names the accounts it counts for, the run that takes it carries them,
 * and the commit that ends the run adds its usage to their rows: once per run, however many requests get its answer (M18).
 */
import type { RunBody } from "../run/run.ts";
import { type Spend, spendOf } from "./budget.ts";

/** The row of an account on the day of a time, in UTC. */
export const quotaKey = (account: string, at: number): string =>
  `quota:${new Date(at).toISOString().slice(0, 10)}:${account}`;

/** What the end of a run adds to which rows. */
export function chargesOf(
  { accounts = [], usage }: Pick<RunBody, "accounts" | "usage">,
  at: number,
): readonly { readonly key: string; readonly spent: Spend }[] {
  if (!usage) return [];
  const spent = spendOf(usage);
  return accounts.map((account) => ({ key: quotaKey(account, at), spent }));
}

/** The accounts of several messages, each once; undefined if there are none. */
export function joinedAccounts(
  messages: readonly { readonly accounts?: readonly string[] }[],
  before: readonly string[] = [],
): readonly string[] | undefined {
  const all = new Set([...before, ...messages.flatMap(({ accounts = [] }) => accounts)]);
  return all.size === 0 ? undefined : [...all];
}

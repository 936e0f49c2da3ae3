/** The table `changes`: the log of applied changes, each with its result and what it touched. */
import type { ChangeId } from "../../../core/ids.ts";
import type { CommitResult, OpResult } from "../../../core/store/change.ts";
import type { Statement } from "./batched-reads.ts";
import type { Connections } from "./connections.ts";

const SELECT: Statement = { name: "select-change", text: "SELECT result FROM changes WHERE id = $1" };
const SELECT_XMIN: Statement = {
  name: "changes-xmin",
  text: "SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS before",
};
const SELECT_TOUCHED: Statement = {
  name: "touched-between",
  text: "SELECT DISTINCT word FROM changes, unnest(touched) AS word WHERE xid >= $1::text::xid8 AND xid < $2::text::xid8",
};

/** The result of a change, or undefined if it was not applied. */
export async function outcomeOf(connections: Connections, id: ChangeId): Promise<CommitResult | undefined> {
  const row = await connections.one<{ result: string | null }>(SELECT, id);
  if (!row) return undefined;
  if (row.result === null) return { ok: true, results: [] };
  const result = JSON.parse(row.result) as Record<string, OpResult> & { readonly ops: number };
  return { ok: true, results: Array.from({ length: result.ops }, (_, index) => result[index]) };
}

/** A transaction id below which every transaction has ended. */
export async function endedBefore(connections: Connections): Promise<string> {
  return (await connections.one<{ before: string }>(SELECT_XMIN))?.before ?? "0";
}

/** The words of `touched` (agent ids, `budgets`, `job:<id>` …) of changes from one transaction id up to another. */
export async function touchedBetween(connections: Connections, from: string, before: string): Promise<string[]> {
  return (await connections.all<{ word: string }>(SELECT_TOUCHED, from, before)).map(({ word }) => word);
}

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
  name: "touched-since",
  text: "SELECT word, count(*)::int AS changes FROM changes, unnest(touched) AS word WHERE xid >= $1::text::xid8 GROUP BY word",
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

/** The words of `touched` (agent ids, `budgets`, `job:<id>` …) of committed changes from a transaction id on, and how many. */
export async function touchedSince(
  connections: Connections,
  from: string,
): Promise<readonly { readonly word: string; readonly changes: number }[]> {
  return connections.all<{ word: string; changes: number }>(SELECT_TOUCHED, from);
}

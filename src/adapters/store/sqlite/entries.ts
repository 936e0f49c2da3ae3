/** The table `entries`: the lines of histories, verbatim, by agent and position. Also the ops on the tip and the state. */
import type { AgentId } from "../../../core/ids.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type LineRow, lineOf } from "../rows.ts";
import { type Applying, ownerOf, touch } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

const INSERT = "INSERT INTO entries (agent, pos, line) VALUES (?, ?, ?)";
const REMOVE = "DELETE FROM entries WHERE agent = ?";
const SELECT_BACK =
  "SELECT pos, line FROM entries WHERE agent = (SELECT no FROM agents WHERE id = ?) AND pos < ? ORDER BY pos DESC LIMIT ?";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

/** Lines below a position, newest first. */
export const linesBack = (db: Database, agentId: AgentId, before: number, limit: number): LineRow[] =>
  db.all(SELECT_BACK, agentId, before, limit);

export const entryReads = (db: Database): Pick<StoreReader, "linesBack"> => ({
  linesBack: async (agentId, { before = Number.MAX_SAFE_INTEGER, limit }) =>
    linesBack(db, agentId, before, limit).map(lineOf),
});

export function insertEntry(db: Database, agent: number, position: number, line: string): void {
  db.run(INSERT, agent, position, line);
}

export function removeEntries(db: Database, agent: number): void {
  db.run(REMOVE, agent);
}

export function appendEntries(applying: Applying, op: OpOf<"entries.append">): undefined {
  const owner = ownerOf(applying);
  if (op.position !== owner.next_pos) {
    throw new RefusedChange("conflict", `History of ${owner.id} is at ${owner.next_pos}, not at ${op.position}.`);
  }
  for (const line of op.lines) insertEntry(applying.db, owner.no, owner.next_pos++, line);
  owner.leaf = op.leaf;
  touch(applying, owner, "all");
}

export function moveLeaf(applying: Applying, { leaf }: OpOf<"leaf.move">): undefined {
  const owner = ownerOf(applying);
  owner.leaf = leaf;
  touch(applying, owner, "all");
}

export function putState(applying: Applying, { state }: OpOf<"state.put">): undefined {
  const owner = ownerOf(applying);
  owner.state = JSON.stringify(state);
  touch(applying, owner, "all");
}

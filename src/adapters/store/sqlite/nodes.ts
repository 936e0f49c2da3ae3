/** The table `nodes`: processes that own agents, each with a lease. `gone`: 0 up, 1 left or dead, 2 returned under another number. */
import type { Op, OpResult } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type NodeRow, nodeOf } from "../rows.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

const SELECT = "SELECT node, name, lease_until, gone FROM nodes ORDER BY node";
const SELECT_LIVE = "SELECT node FROM nodes WHERE node = ? AND gone <> 1 AND lease_until > ?";
const INSERT = "INSERT INTO nodes (name, lease_until, gone) VALUES (?, ?, 0)";
const RENEW = "UPDATE nodes SET lease_until = ? WHERE node = ? AND gone = 0";
const LEAVE = "UPDATE nodes SET gone = 1 WHERE node = ?";
const RETURN = "UPDATE nodes SET gone = 2 WHERE node = ?";
const RETIRE = "UPDATE nodes SET gone = 1 WHERE gone = 0";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export const nodeReads = (db: Database): Pick<StoreReader, "nodes"> => ({
  nodes: async () => db.all<NodeRow>(SELECT).map(nodeOf),
});

/** Whether a node has not left and its lease runs at this time. */
export const isLive = (db: Database, node: number, at: number): boolean => db.get(SELECT_LIVE, node, at) !== undefined;

/** Marks all nodes as gone, for a process that holds the home's lock: no other one runs. */
export function retireNodes(db: Database): void {
  db.run(RETIRE);
}

export function joinNode({ db }: Applying, { name, leaseUntil, was }: OpOf<"node.join">): OpResult {
  if (was !== undefined) db.run(RETURN, was);
  return { op: "node.join", node: Number(db.run(INSERT, name, leaseUntil).lastInsertRowid) };
}

export function renewNode({ db, change }: Applying, { node, leaseUntil }: OpOf<"node.renew">): undefined {
  if (!isLive(db, node, change.at) || db.run(RENEW, leaseUntil, node).changes === 0)
    throw new RefusedChange("fenced", `The lease of node ${node} has ended.`);
}

export function leaveNode({ db }: Applying, { node }: OpOf<"node.leave">): undefined {
  db.run(LEAVE, node);
}

/** The table `nodes`: reads, and how ops on it are sent. */
import type { StoreReader } from "../../../core/store/store.ts";
import { type NodeRow, nodeOf } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type OpForms, whole } from "./op-form.ts";

const SELECT: Statement = {
  name: "select-nodes",
  text: "SELECT node, name, lease_until, gone FROM nodes ORDER BY node",
};

export const nodeReads = (connections: Connections): Pick<StoreReader, "nodes"> => ({
  nodes: async () => (await connections.all<NodeRow>(SELECT)).map(nodeOf),
});

export const nodeOps: OpForms<"node.join" | "node.renew" | "node.leave"> = {
  "node.join": { wire: ({ name, leaseUntil, was }) => ({ name: clean(name), leaseUntil: whole(leaseUntil), was }) },
  "node.renew": { wire: ({ node, leaseUntil }) => ({ node, leaseUntil: whole(leaseUntil) }) },
  "node.leave": { wire: ({ node }) => ({ node }) },
};

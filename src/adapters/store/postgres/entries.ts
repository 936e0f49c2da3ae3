/** The table `entries`: the lines of histories, verbatim. Also how ops on the tip and the state are sent. */
import type { StoreReader } from "../../../core/store/store.ts";
import { type LineRow, lineOf } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import type { OpForms } from "./op-form.ts";

const SELECT_BACK: Statement = {
  name: "select-lines-back",
  types: ["text", "bigint", "bigint"],
  text: "SELECT pos, line FROM entries WHERE agent = $1 AND pos < $2 ORDER BY pos DESC LIMIT $3",
};

export const entryReads = (connections: Connections): Pick<StoreReader, "linesBack"> => ({
  linesBack: async (agentId, { before = Number.MAX_SAFE_INTEGER, limit }) =>
    (await connections.all<LineRow>(SELECT_BACK, agentId, before, limit)).map(lineOf),
});

export const entryOps: OpForms<"entries.append" | "leaf.move" | "state.put"> = {
  "entries.append": {
    byOwner: true,
    wire: ({ position, lines, leaf }) => ({ position, lines: lines.map(clean), leaf: clean(leaf) }),
    batch: ({ position, lines, leaf }, { agent, claims, add }) => {
      Object.assign(claims, { pos: position, lines: lines.length, leaf: clean(leaf) });
      for (const [n, line] of lines.entries()) add("entries", { agent, pos: position + n, line: clean(line) });
    },
  },
  "leaf.move": {
    byOwner: true,
    wire: ({ leaf }) => ({ leaf: clean(leaf) }),
    batch: ({ leaf }, { claims }) => {
      claims.leaf = clean(leaf);
    },
  },
  "state.put": {
    byOwner: true,
    wire: ({ state }) => ({ state: JSON.stringify(state) }),
    batch: ({ state }, { agent, add }) => add("states", { agent, state: JSON.stringify(state) }),
  },
};

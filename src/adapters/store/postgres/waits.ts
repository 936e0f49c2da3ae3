/** The table `waits`: which agent's run waits for which agent. Reads, and how ops on it are sent. */
import type { StoreReader } from "../../../core/store/store.ts";
import { type WaitRow, waitOf } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import type { OpForms } from "./op-form.ts";

const SELECT_FROM = `SELECT waits.id, waits.waiter, waits.awaited, waits.run_id, waits.since
FROM waits JOIN runs ON runs.id = waits.run_id AND runs.agent = waits.waiter AND runs.state = 'open'`;
const SELECT_PAGE: Statement = {
  name: "select-waits",
  text: `${SELECT_FROM}
WHERE waits.id > $1 ORDER BY waits.id LIMIT $2`,
};
const SELECT_OF_WAITER: Statement = {
  name: "select-waits-of",
  text: `${SELECT_FROM}
WHERE waits.waiter = $1 AND waits.id > $2 ORDER BY waits.id LIMIT $3`,
};

export const waitReads = (connections: Connections): Pick<StoreReader, "waits"> => ({
  waits: async ({ from, after = "", limit }) => {
    const rows =
      from === undefined
        ? await connections.all<WaitRow>(SELECT_PAGE, after, limit)
        : await connections.all<WaitRow>(SELECT_OF_WAITER, from, after, limit);
    return rows.map(waitOf);
  },
});

export const waitOps: OpForms<"wait.begin" | "wait.end"> = {
  "wait.begin": {
    wire: ({ id, from, to, runId }) => ({
      id: clean(id),
      from: clean(from),
      runId: clean(runId),
      to: "agentId" in to ? clean(to.agentId) : undefined,
      key: "agentId" in to ? undefined : clean(to.sessionKey),
    }),
    // `waits` makes all waits of all nodes begin one after the other, so that no two close a cycle together (M11).
    locks: ({ id, to }) => [
      ["names", "waits"],
      ["names", `wait ${clean(id)}`],
      ...("sessionKey" in to ? [["keys", clean(to.sessionKey)] as const] : []),
    ],
  },
  "wait.end": { wire: ({ id }) => ({ id: clean(id) }), locks: ({ id }) => [["names", `wait ${clean(id)}`]] },
};

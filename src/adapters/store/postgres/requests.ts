/** The table `requests`: the ledger of HTTP requests (M18). Reads, and how ops on it are sent. */
import type { StoreReader } from "../../../core/store/store.ts";
import { type RequestRow, requestOf } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type Lock, type OpForms, whole } from "./op-form.ts";

const SELECT: Statement = {
  name: "select-request",
  types: ["text"],
  text: `SELECT r.key, r.digest, r.agent AS agent_id, r.seq, r.finished, a.last_user_seq > r.seq AS later, r.reply, r.keep_until,
  m.state IN ('waiting', 'taken') OR m.state = 'merged' AND EXISTS (SELECT FROM runs WHERE id = m.run_id AND agent = r.agent AND state = 'open') AS open
FROM requests r LEFT JOIN agents a ON a.id = r.agent LEFT JOIN messages m ON m.agent = r.agent AND m.seq = r.seq WHERE r.key = $1`,
};

export const requestReads = (connections: Connections): Pick<StoreReader, "request"> => ({
  request: async (key) => {
    const row = await connections.one<RequestRow>(SELECT, key);
    return row && requestOf(row);
  },
});

export const requestLocks = ({ key }: { readonly key: string }): readonly Lock[] => [
  ["names", `request ${clean(key)}`],
];

export const requestOps: OpForms<"request.put" | "request.finish"> = {
  "request.put": {
    wire: ({ request: { key, digest, keepUntil }, reply }) => ({
      key: clean(key),
      digest: clean(digest),
      reply: clean(reply),
      keep: whole(keepUntil),
    }),
    locks: ({ request }) => requestLocks(request),
  },
  "request.finish": {
    wire: ({ key, agentId, seq }) => ({ key: clean(key), agent: clean(agentId), seq }),
    locks: requestLocks,
    batch: ({ key, agentId, seq }, { add }) => add("finished", { key: clean(key), agent: clean(agentId), seq }),
  },
};

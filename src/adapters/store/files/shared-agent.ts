/** One agent's rows for its plain files, read from a shared database and offered as a `MirrorSource`. */
import { dedupeKey, type NewMessage } from "../../../core/message/message.ts";
import type { ApprovalRow } from "../approval-rows.ts";
import { SELECT_OPEN_OF_AGENT } from "../postgres/approvals.ts";
import type { Statement } from "../postgres/batched-reads.ts";
import type { Connections } from "../postgres/connections.ts";
import type { LineRow } from "../rows.ts";
import { DEDUPE_KEYS } from "./file-format.ts";
import type { AgentRow, DedupeRow, DeliveryRow, MessageRow, MirrorSource, RunRow } from "./mirror-source.ts";

const SELECT_AGENT: Statement = {
  name: "mirror-agent",
  text: `SELECT no, id, session_key, profile, person, descriptor, created_at, session_id, next_seq, cursor, next_pos, leaf, run_id, last_human_at, stopped,
  states.state, EXISTS (SELECT FROM approvals WHERE agent = agents.id AND state IN ('pending', 'approved')) AS asks
FROM agents JOIN states ON states.agent = agents.id WHERE agents.id = $1`,
};
const SELECT_RUN: Statement = {
  name: "mirror-run",
  text: "SELECT id, session_id, attempt, step, started_at, abort, body FROM runs WHERE id = $1 AND agent = $2 AND state = 'open'",
};
const SELECT_MESSAGES: Statement = {
  name: "mirror-messages",
  text: "SELECT seq, state, run_id, message FROM messages WHERE agent = $1 AND seq >= $2 ORDER BY seq",
};
const SELECT_LINES: Statement = {
  name: "mirror-lines",
  text: "SELECT pos, line FROM entries WHERE agent = $1 AND pos >= $2 ORDER BY pos",
};
const SELECT_DELIVERIES: Statement = {
  name: "mirror-deliveries",
  text: `SELECT id, run_id, state, attempts, next_at, created_at, reason, target, payload FROM deliveries
WHERE agent = $1 AND state IN ('pending', 'sending', 'waiting-reader', 'unroutable') ORDER BY n`,
};
const SELECT_DEDUPE: Statement = {
  name: "mirror-dedupe",
  text: `SELECT key, seq, keep_until FROM dedupe WHERE key = ANY ($1::text[]) AND agent = $2
UNION ALL SELECT key, seq, keep_until FROM requests WHERE key = ANY ($1::text[]) AND agent = $2 ORDER BY seq`,
};

interface SharedAgent {
  readonly no: number;
  readonly source: MirrorSource;
}

/** `fromPos`: earlier lines are in the file already. `keysInFile`: the dedupe keys in `pending.json`. */
export async function readSharedAgent(
  connections: Connections,
  id: string,
  fromPos: number,
  keysInFile: readonly string[],
): Promise<SharedAgent | undefined> {
  const agent = await connections.one<AgentRow & { readonly asks: boolean }>(SELECT_AGENT, id);
  if (!agent) return undefined;
  const run = agent.run_id === null ? undefined : await connections.one<RunRow>(SELECT_RUN, agent.run_id, id);
  const seqs = run ? ((JSON.parse(run.body) as { seqs?: readonly number[] }).seqs ?? []) : [];
  const firstSeq = Math.min(agent.cursor + 1, ...seqs, Math.max(1, agent.next_seq - DEDUPE_KEYS));
  const messages = await connections.all<MessageRow>(SELECT_MESSAGES, id, firstSeq);
  const lines = await connections.all<LineRow>(SELECT_LINES, id, fromPos);
  const deliveries = await connections.all<DeliveryRow>(SELECT_DELIVERIES, id);
  const approvals = agent.asks ? await connections.all<ApprovalRow>(SELECT_OPEN_OF_AGENT, id) : [];
  const keyOf = new Map(messages.map(({ seq, message }) => [seq, dedupeKey(JSON.parse(message) as NewMessage)]));
  const keys = [...new Set([...keysInFile, ...[...keyOf.values()].flatMap((key) => key ?? [])])];
  const known = new Map(
    (await connections.all<{ key: string; seq: number; keep_until: number }>(SELECT_DEDUPE, keys, id)).map(
      ({ key, seq, keep_until }) => [key, [key, seq, keep_until] as DedupeRow],
    ),
  );
  const unsettled = messages.filter(({ state }) => state === "waiting" || state === "taken");
  const nothing = (): never => {
    throw new RangeError("This source has one agent only.");
  };
  return {
    no: agent.no,
    source: {
      bounds: () => ({ first: 0, last: 0 }),
      changeId: nothing,
      changesAfter: nothing,
      agentsAfter: nothing,
      knowsAgent: nothing,
      consistently: (read) => read(),
      agent: () => agent,
      lines: (_, from, limit) => lines.slice(Math.max(0, from - fromPos), Math.max(0, from - fromPos) + limit),
      openRun: () => run,
      unsettled: (_, fromSeq) => unsettled.filter(({ seq }) => seq >= fromSeq),
      dedupeKeys: (_, afterSeq, limit) => [...known.values()].filter(([, seq]) => seq > afterSeq).slice(-limit),
      dedupeKey: (_, key) => known.get(key),
      openDeliveries: () => deliveries,
      openApprovals: () => approvals,
      subagentRuns: nothing,
      budgets: nothing,
      job: nothing,
      swarms: nothing,
      people: nothing,
      storedFiles: nothing,
      jobs: nothing,
      slot: nothing,
      newestSlots: nothing,
    },
  };
}

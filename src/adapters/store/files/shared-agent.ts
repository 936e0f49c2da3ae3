/** Everything of one agent that its plain files are written from, read from a shared database and then held still. */

import { dedupeKey, type NewMessage } from "../../../core/message/message.ts";
import type { Connections, Row } from "../postgres/connections.ts";
import type { AgentRow, DedupeRow, DeliveryRow, MessageRow, MirrorSource, RunRow } from "./mirror-source.ts";
import { DEDUPE_KEYS } from "./pending-file.ts";

export interface SharedAgent {
  readonly no: number;
  readonly source: MirrorSource;
}

/** `fromPos`: lines before it are in the file already. `keysInFile`: those the pending file names. */
export async function readSharedAgent(
  connections: Connections,
  id: string,
  fromPos: number,
  keysInFile: readonly string[],
): Promise<SharedAgent | undefined> {
  const rows = async <T>(name: string, ...values: readonly unknown[]): Promise<T[]> =>
    (await connections.rows(name, values)) as readonly Row[] as unknown as T[];
  const [agent] = await rows<AgentRow>("mirror-agent", id);
  if (!agent) return undefined;
  const [run] = agent.run_id === null ? [] : await rows<RunRow>("mirror-run", agent.run_id, id);
  const seqs = run ? ((JSON.parse(run.body) as { seqs?: readonly number[] }).seqs ?? []) : [];
  const firstSeq = Math.min(agent.cursor + 1, ...seqs, Math.max(1, agent.next_seq - DEDUPE_KEYS));
  const messages = await rows<MessageRow>("mirror-messages", id, firstSeq);
  const lines = await rows<{ pos: number; line: string }>("mirror-lines", id, fromPos);
  const deliveries = await rows<DeliveryRow>("mirror-deliveries", id);
  const keyOf = new Map(messages.map(({ seq, message }) => [seq, dedupeKey(JSON.parse(message) as NewMessage)]));
  const keys = [...new Set([...keysInFile, ...[...keyOf.values()].flatMap((key) => key ?? [])])];
  const known = new Map(
    (await rows<{ key: string; seq: number; keep_until: number }>("mirror-dedupe", keys, id)).map(
      ({ key, seq, keep_until }) => [key, [key, seq, keep_until] as DedupeRow],
    ),
  );
  const unsettled = messages.filter(({ state }) => state === "waiting" || state === "taken");
  const nothing = (): never => {
    throw new RangeError("Only one agent is held here.");
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
      subagentRuns: nothing,
      budgets: nothing,
      job: nothing,
      swarms: nothing,
      jobs: nothing,
      slot: nothing,
      newestSlots: nothing,
    },
  };
}

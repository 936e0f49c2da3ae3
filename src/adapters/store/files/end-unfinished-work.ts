/**
 * After a rebuild or a restored backup it is unknown how far unfinished work really went (M6). Open runs end `lost`, their
 * messages fail with a reason, the agent gets a waiting message that says so, and open deliveries become `unconfirmed`. A
 * delivery in a mailbox stays: its id tells the reader whether it has read it (M27). All of it goes through the same changes as any other step, one change per agent.
 */
import { shortened } from "../../../core/cut-text.ts";
import { InvariantError } from "../../../core/errors.ts";
import { readEntry, type ToolCallBlock } from "../../../core/history/entry.ts";
import type { DeliveryId, Ids } from "../../../core/ids.ts";
import { type AgentId, type EntryId, entryId, type RunId } from "../../../core/ids.ts";
import type { NewMessage } from "../../../core/message/message.ts";
import type { RunBody } from "../../../core/run/run.ts";
import type { Change, CommitResult, Op, Owner } from "../../../core/store/change.ts";
import { applyGroup, applyWithin } from "../sqlite/apply-change.ts";
import { readReservations } from "../sqlite/budgets.ts";
import type { Database } from "../sqlite/database.ts";
import { linesBack } from "../sqlite/entries.ts";
import { runRow } from "../sqlite/runs.ts";
import type { DeliveryRow } from "./mirror-source.ts";
import { sqliteSource } from "./sqlite-source.ts";

const SELECT_UNFINISHED = `SELECT no, id, run_id, next_pos, leaf FROM agents WHERE (?1 IS NULL OR id = ?1) AND (run_id IS NOT NULL
  OR no IN (SELECT agent FROM messages WHERE state = 'taken')
  OR no IN (SELECT agent FROM deliveries WHERE state IN ('pending', 'sending', 'unroutable')))
ORDER BY no`;
const SELECT_TAKEN = "SELECT seq, message FROM messages WHERE agent = ? AND state = 'taken' ORDER BY seq";

export interface LostWork {
  readonly runs: number;
  readonly messages: number;
  readonly deliveries: number;
  /** People who became strangers, because the backup may hold rights that were taken back since. */
  readonly people?: number;
}

interface EndOptions {
  readonly ids: Ids;
  readonly now: number;
  /** The cause, as the second half of a sentence: "the database was rebuilt from the plain files". */
  readonly why: string;
  /** Only the work of this agent, inside the caller's transaction. */
  readonly only?: AgentId;
}

interface UnfinishedAgent {
  readonly no: number;
  readonly id: AgentId;
  readonly run_id: RunId | null;
  readonly next_pos: number;
  readonly leaf: string;
}

interface TakenMessage {
  readonly seq: number;
  readonly message: NewMessage;
}

export function endUnfinishedWork(db: Database, options: EndOptions): LostWork {
  const { only } = options;
  const unfinished = db.all<UnfinishedAgent>(SELECT_UNFINISHED, only ?? null);
  const lost = { runs: 0, messages: 0, deliveries: 0 };
  // The cost of model calls in progress will never be known: they are charged what was reserved (M21).
  if (!only && readReservations(db, 1).length > 0) {
    commit(db, options, [{ op: "budget.sweep", reservedBefore: Number.MAX_SAFE_INTEGER, rowsBefore: 0 }]);
  }
  if (unfinished.length === 0) return lost;
  const node = joinNode(db, options);
  for (const agent of unfinished) {
    const messages = takenMessages(db, agent.no);
    const deliveries = sqliteSource(db.sql)
      .openDeliveries(agent.no)
      .filter(({ state }) => state !== "waiting-reader");
    const body = agent.run_id === null ? undefined : openRunBody(db, agent.run_id);
    const ops = [
      ...(body && agent.run_id ? endRunOps(db, options, agent, agent.run_id, body) : []),
      ...(messages.length > 0 || body ? notifyOps(options, agent, messages, body) : []),
      ...deliveries.map((delivery) => unconfirmOp(options, delivery)),
    ];
    commit(db, options, ops, claim(db, options, agent.id, node));
    lost.runs += body ? 1 : 0;
    lost.messages += messages.length;
    lost.deliveries += deliveries.length;
  }
  commit(db, options, [{ op: "node.leave", node }]);
  return lost;
}

const takenMessages = (db: Database, no: number): TakenMessage[] =>
  db
    .all<{ seq: number; message: string }>(SELECT_TAKEN, no)
    .map(({ seq, message }) => ({ seq, message: JSON.parse(message) as NewMessage }));

function openRunBody(db: Database, runId: RunId): RunBody | undefined {
  const row = runRow(db, runId);
  return row?.state === "open" ? (JSON.parse(row.body) as RunBody) : undefined;
}

/** Ends the run and gives every open tool call a result, so that model providers still accept the history. */
function endRunOps(
  db: Database,
  { ids, now, why }: EndOptions,
  agent: UnfinishedAgent,
  runId: RunId,
  body: RunBody,
): readonly Op[] {
  let leaf = agent.leaf;
  let position = agent.next_pos;
  const lines = openCalls(db, agent.id, agent.leaf).map((call) => {
    const started = body.calls.find((known) => known.callId === call.id)?.state !== "asked";
    const text = started
      ? "Outcome unknown: the process stopped before it was recorded."
      : "Not started: the process stopped before.";
    const id = entryId(position++, ids.uuid());
    const entry = {
      type: "message",
      id,
      parentId: leaf,
      role: "tool",
      content: [{ type: "text", text }],
      toolCallId: call.id,
      toolName: call.name,
      isError: true,
      timestamp: now,
      runId,
    };
    leaf = id;
    return JSON.stringify(entry);
  });
  const ended: RunBody = { ...body, calls: [], error: { kind: "internal", message: `Lost: ${why}.` } };
  const appending: readonly Op[] =
    lines.length === 0 ? [] : [{ op: "entries.append", position: agent.next_pos, lines, leaf: leaf as EntryId }];
  return [...appending, { op: "run.end", runId, body: ended, outcome: "lost" }];
}

/** The tool calls at the tip of a history that have no result yet (M9). */
function openCalls(db: Database, agentId: AgentId, leaf: string): readonly ToolCallBlock[] {
  const answered = new Set<string>();
  let wanted: string | null = leaf;
  for (const line of allLinesBack(db, agentId)) {
    const read = readEntry(line);
    if (read.kind === "broken") continue;
    const { id, parentId } = read.kind === "entry" ? (read.entry as { id: string; parentId?: string | null }) : read;
    if (id !== wanted) continue;
    wanted = parentId ?? null;
    if (read.kind === "entry" && read.entry.type === "message") {
      const { role, content, toolCallId } = read.entry;
      if (role === "tool" && toolCallId !== undefined) answered.add(toolCallId);
      if (role === "assistant") {
        return content.filter((block) => block.type === "toolCall").filter((call) => !answered.has(call.id));
      }
      if (role === "user") return [];
    }
    if (wanted === null) return [];
  }
  return [];
}

const LINES_PER_READ = 100;

function* allLinesBack(db: Database, agentId: AgentId): Generator<string> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = linesBack(db, agentId, before, LINES_PER_READ);
    for (const { line } of rows) yield line;
    const last = rows.at(-1);
    if (!last || rows.length < LINES_PER_READ) return;
    before = last.pos;
  }
}

const QUOTED = 200;

/** Settles the taken messages and posts one waiting message, addressed like the run, so that the agent informs the person. */
function notifyOps(
  { now, why }: EndOptions,
  agent: UnfinishedAgent,
  messages: readonly TakenMessage[],
  body: RunBody | undefined,
): readonly Op[] {
  const quotes = messages.map(({ message }) => {
    const text = "text" in message.body ? (message.body.text ?? "") : `(${message.body.kind})`;
    return `- ${shortened(text, QUOTED)}`;
  });
  const text = [
    `Your last run was lost: ${why}.`,
    ...(quotes.length > 0 ? ["These messages were being answered and may not have been:", ...quotes] : []),
    "What was done after the last recorded step is not known. Tell the people who are waiting, and ask before you repeat anything that must not happen twice.",
  ].join("\n");
  const delivery = body?.delivery ?? messages.at(-1)?.message.delivery;
  const reason = `lost: ${why}`;
  const runId = agent.run_id ?? undefined;
  const settlements = messages.map(({ seq }) => ({ seq, from: "taken", state: "failed", reason, runId }) as const);
  return [
    ...(settlements.length > 0 ? [{ op: "message.settle" as const, settlements }] : []),
    {
      op: "message.post",
      to: { agentId: agent.id },
      message: { body: { kind: "system", text }, acceptedAt: now, delivery },
    },
  ];
}

function unconfirmOp({ why }: EndOptions, { id, state, attempts }: DeliveryRow): Op {
  const reason = `${why}; it is unknown whether it was sent`;
  return { op: "delivery.move", id: id as DeliveryId, from: state, attempts, to: "unconfirmed", reason };
}

function joinNode(db: Database, options: EndOptions): number {
  const result = commit(db, options, [{ op: "node.join", name: "rebuild", leaseUntil: options.now + 60_000 }])[0];
  if (result?.op === "node.join") return result.node;
  throw new InvariantError("A node that joined got no number.");
}

function claim(db: Database, options: EndOptions, agentId: AgentId, node: number): Owner {
  const result = commit(db, options, [{ op: "agent.claim", agentId, node }])[0];
  if (result?.op === "agent.claim" && result.epoch !== undefined) return { agentId, node, epoch: result.epoch };
  throw new InvariantError(`Agent ${agentId} could not be claimed in a database that no other process uses.`);
}

function commit(db: Database, { ids, now, only }: EndOptions, ops: readonly Op[], owner?: Owner) {
  const change: Change = { id: ids.change(), site: "store.lose-open-work", at: now, owner, ops };
  const result: CommitResult | Error | undefined = only ? applyWithin(db, change) : applyGroup(db, [change])[0];
  if (result instanceof Error) throw result;
  if (result?.ok) return result.results;
  throw new InvariantError(`Unfinished work could not be ended: ${result?.detail}`);
}

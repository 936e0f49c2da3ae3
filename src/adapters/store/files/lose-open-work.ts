/**
 * After a rebuild or a restored backup nobody knows how far the unfinished work really went (M6): open runs end `lost`,
 * their messages fail with a trace, the agent is told by a message that waits, and unended deliveries become
 * `unconfirmed`. All of it goes through the same changes as any other step, one per agent.
 */

import { InvariantError } from "../../../core/errors.ts";
import type { DeliveryId, Ids } from "../../../core/ids.ts";
import { type AgentId, type EntryId, entryId, type RunId } from "../../../core/ids.ts";
import type { NewMessage } from "../../../core/message/message.ts";
import type { RunBody } from "../../../core/run/run.ts";
import type { Change, CommitResult, Op, Owner } from "../../../core/store/change.ts";
import { applyGroup } from "../sqlite/apply-change.ts";
import type { Database } from "../sqlite/database.ts";
import type { DeliveryRow } from "./mirror-source.ts";
import { openCalls } from "./open-calls.ts";
import { sqliteSource, statementsOf } from "./sqlite-source.ts";

export interface LostWork {
  readonly runs: number;
  readonly messages: number;
  readonly deliveries: number;
}

export interface Losing {
  readonly ids: Ids;
  readonly now: number;
  /** Why nobody knows, as the second half of a sentence: "the database was rebuilt from the plain files". */
  readonly why: string;
}

interface Unfinished {
  readonly no: number;
  readonly id: AgentId;
  readonly run_id: RunId | null;
  readonly next_pos: number;
  readonly leaf: string;
}

export function loseOpenWork(db: Database, losing: Losing): LostWork {
  const statement = statementsOf(db.sql);
  const unfinished = statement("unfinished-agents").all() as unknown as Unfinished[];
  const lost = { runs: 0, messages: 0, deliveries: 0 };
  // Nobody lives who could learn what calls under way have cost: they are charged what was reserved (M21).
  if (db.statement("select-reservations").get(1)) {
    applied(db, losing, [{ op: "budget.sweep", reservedBefore: Number.MAX_SAFE_INTEGER, rowsBefore: 0 }]);
  }
  if (unfinished.length === 0) return lost;
  const node = joined(db, losing);
  for (const agent of unfinished) {
    const taken = statement("taken-messages").all(agent.no) as unknown as { seq: number; message: string }[];
    const deliveries = sqliteSource(db.sql).openDeliveries(agent.no);
    const body = agent.run_id === null ? undefined : bodyOf(db, agent.run_id);
    const messages = taken.map(({ seq, message }) => ({ seq, message: JSON.parse(message) as NewMessage }));
    const ops = [
      ...(body && agent.run_id ? endingRun(db, losing, agent, agent.run_id, body) : []),
      ...(messages.length > 0 || body ? telling(losing, agent, messages, body) : []),
      ...deliveries.map((delivery) => unconfirming(losing, delivery)),
    ];
    applied(db, losing, ops, claimed(db, losing, agent.id, node));
    lost.runs += body ? 1 : 0;
    lost.messages += messages.length;
    lost.deliveries += deliveries.length;
  }
  applied(db, losing, [{ op: "node.leave", node }]);
  return lost;
}

function bodyOf(db: Database, runId: RunId): RunBody | undefined {
  const row = db.statement("select-run").get(runId);
  return row?.state === "open" ? (JSON.parse(row.body as string) as RunBody) : undefined;
}

/** Ends the run and gives every open tool call a result, so that the history stays acceptable to providers. */
function endingRun(db: Database, losing: Losing, agent: Unfinished, runId: RunId, body: RunBody): readonly Op[] {
  let leaf = agent.leaf;
  let position = agent.next_pos;
  const lines = openCalls(db, agent.id, agent.leaf).map((call) => {
    const started = body.calls.find((known) => known.callId === call.id)?.state !== "asked";
    const text = started
      ? "Outcome unknown: the process stopped before it was recorded."
      : "Not started: the process stopped before.";
    const id = entryId(position++, losing.ids.uuid());
    const entry = {
      type: "message",
      id,
      parentId: leaf,
      role: "tool",
      content: [{ type: "text", text }],
      toolCallId: call.id,
      toolName: call.name,
      isError: true,
      timestamp: losing.now,
      runId,
    };
    leaf = id;
    return JSON.stringify(entry);
  });
  const ended: RunBody = { ...body, calls: [], error: { kind: "internal", message: `Lost: ${losing.why}.` } };
  const appending: readonly Op[] =
    lines.length === 0 ? [] : [{ op: "entries.append", position: agent.next_pos, lines, leaf: leaf as EntryId }];
  return [...appending, { op: "run.end", runId, body: ended, outcome: "lost" }];
}

const QUOTED = 200;

/** Settles what was taken and posts one waiting message, addressed like the run, so that the person is told. */
function telling(
  { now, why }: Losing,
  agent: Unfinished,
  messages: readonly { readonly seq: number; readonly message: NewMessage }[],
  body: RunBody | undefined,
): readonly Op[] {
  const quotes = messages.map(({ message }) => {
    const text = "text" in message.body ? (message.body.text ?? "") : `(${message.body.kind})`;
    return `- ${text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text}`;
  });
  const text = [
    `Your last run was lost: ${why}.`,
    ...(quotes.length > 0 ? ["These messages were being answered and may not have been:", ...quotes] : []),
    "What was done after the last recorded step is not known. Tell whoever is waiting, and ask before you repeat anything that must not happen twice.",
  ].join("\n");
  const delivery = body?.delivery ?? messages.at(-1)?.message.delivery;
  const reason = `lost: ${why}`;
  const settlements = messages.map(({ seq }) => ({
    seq,
    from: "taken" as const,
    state: "failed" as const,
    reason,
    ...(agent.run_id === null ? {} : { runId: agent.run_id }),
  }));
  return [
    ...(settlements.length > 0 ? [{ op: "message.settle" as const, settlements }] : []),
    {
      op: "message.post",
      to: { agentId: agent.id },
      message: { body: { kind: "system", text }, acceptedAt: now, ...(delivery ? { delivery } : {}) },
    },
  ];
}

function unconfirming({ why }: Losing, { id, state, attempts }: DeliveryRow): Op {
  return {
    op: "delivery.move",
    id: id as DeliveryId,
    from: state,
    attempts,
    to: "unconfirmed",
    reason: `${why}; nobody knows whether it was sent`,
  };
}

function joined(db: Database, losing: Losing): number {
  const result = applied(db, losing, [{ op: "node.join", name: "rebuild", leaseUntil: losing.now + 60_000 }])[0];
  if (result?.op === "node.join") return result.node;
  throw new InvariantError("A node that joined got no number.");
}

function claimed(db: Database, losing: Losing, agentId: AgentId, node: number): Owner {
  const result = applied(db, losing, [{ op: "agent.claim", agentId, node }])[0];
  if (result?.op === "agent.claim" && result.epoch !== undefined) return { agentId, node, epoch: result.epoch };
  throw new InvariantError(`Agent ${agentId} could not be claimed in a database nobody else uses.`);
}

function applied(db: Database, { ids, now }: Losing, ops: readonly Op[], owner?: Owner) {
  const change: Change = { id: ids.change(), site: "store.lose-open-work", at: now, owner, ops };
  const result: CommitResult | Error | undefined = applyGroup(db, [change])[0];
  if (result instanceof Error) throw result;
  if (result?.ok) return result.results;
  throw new InvariantError(`Unfinished work could not be ended: ${result?.detail}`);
}

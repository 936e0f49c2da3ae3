/**
 * The rows both databases return, and the records made of them. A row that cannot be parsed throws `CorruptDataError` to the
 * caller that reads it by id; lists skip it, so that it blocks no other row (L11).
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SwarmContact } from "../../core/agent/swarm.ts";
import type { BudgetRecord, Reservation } from "../../core/budget/budget.ts";
import type { Delivery, WaitingState } from "../../core/delivery/delivery.ts";
import { CorruptDataError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import { messageId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import { isHeldBack } from "../../core/run/held-back.ts";
import type { RunRecord } from "../../core/run/run.ts";
import type { JobSlot } from "../../core/schedule/job-slot.ts";
import type { RequestRecord } from "../../core/store/request.ts";
import type { NodeRecord, RunUsage } from "../../core/store/store.ts";
import type { WaitEdge } from "../../core/store/wait.ts";

export interface AgentRow {
  readonly no: number;
  readonly id: AgentId;
  readonly session_key: AgentRecord["sessionKey"];
  readonly profile: string;
  readonly person: AgentRecord["person"] | null;
  readonly descriptor: string;
  readonly state: string;
  readonly session_id: AgentRecord["sessionId"];
  readonly next_seq: number;
  readonly cursor: number;
  readonly waiting: number;
  readonly next_pos: number;
  readonly leaf: AgentRecord["leaf"];
  readonly run_id: RunRecord["id"] | null;
  readonly node: number | null;
  readonly epoch: number;
  readonly last_human_at: number | null;
  readonly stopped: string | null;
  readonly suspended: number | boolean;
  readonly created_at: number;
}

export const agentOf = (row: AgentRow): AgentRecord => ({
  id: row.id,
  sessionKey: row.session_key,
  profile: row.profile,
  person: row.person ?? undefined,
  descriptor: storedJson(row.descriptor),
  state: storedJson(row.state),
  sessionId: row.session_id,
  nextSeq: row.next_seq,
  cursor: row.cursor,
  waiting: row.waiting,
  nextPos: row.next_pos,
  leaf: row.leaf,
  runId: row.run_id ?? undefined,
  suspended: row.suspended ? true : undefined,
  node: row.node ?? undefined,
  epoch: row.epoch,
  lastHumanAt: row.last_human_at ?? undefined,
  stopped: row.stopped === null ? undefined : storedJson(row.stopped),
  createdAt: row.created_at,
});

export interface MessageRow {
  readonly seq: number;
  readonly state: Message["state"];
  readonly accepted_at: number;
  readonly settled_at: number | null;
  readonly run_id: RunRecord["id"] | null;
  readonly reason: string | null;
  readonly message: string;
}

export const messageOf = (agentId: AgentId, row: MessageRow): Message => ({
  ...storedMessage(agentId, row),
  id: messageId(agentId, row.seq),
  agentId,
  seq: row.seq,
  state: row.state,
  runId: row.run_id ?? undefined,
  reason: row.reason ?? undefined,
  settledAt: row.settled_at ?? undefined,
});

/** A row without a body is as unreadable as one that is not JSON. It can be dropped. */
function storedMessage(agentId: AgentId, { seq, message }: MessageRow): Message {
  let cause: unknown;
  try {
    const parsed = JSON.parse(message) as Message | null;
    if (typeof parsed?.body?.kind === "string") return parsed;
  } catch (error) {
    cause = error;
  }
  throw new CorruptDataError(`Message ${seq} of agent ${agentId} cannot be read.`, {
    cause,
    hint: `It was left unchanged. \`rookery agents inbox ${agentId} --drop ${seq}\` drops it.`,
  });
}

export interface RequestRow {
  readonly key: string;
  readonly digest: string | null;
  readonly agent_id: AgentId | null;
  readonly seq: number | null;
  readonly finished: number | boolean;
  readonly later: number | boolean | null;
  readonly open: number | boolean | null;
  readonly reply: string | null;
  readonly keep_until: number;
}

export const requestOf = (row: RequestRow): RequestRecord => ({
  key: row.key,
  digest: row.digest ?? undefined,
  message: row.agent_id === null || row.seq === null ? undefined : { agentId: row.agent_id, seq: row.seq },
  finished: Boolean(row.finished),
  later: Boolean(row.later),
  open: Boolean(row.open),
  reply: row.reply ?? undefined,
  keepUntil: row.keep_until,
});

export interface LineRow {
  readonly pos: number;
  readonly line: string;
}

export const lineOf = ({ pos, line }: LineRow): { position: number; line: string } => ({ position: pos, line });

export interface RunRow {
  readonly id: RunRecord["id"];
  readonly agent_id: AgentId;
  readonly session_id: RunRecord["sessionId"];
  readonly state: RunRecord["state"];
  readonly attempt: number;
  readonly step: number;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly outcome: RunRecord["outcome"] | null;
  readonly abort: string | null;
  readonly body: string;
}

export const runOf = (row: RunRow): RunRecord => ({
  id: row.id,
  agentId: row.agent_id,
  sessionId: row.session_id,
  state: row.state,
  attempt: row.attempt,
  step: row.step,
  startedAt: row.started_at,
  endedAt: row.ended_at ?? undefined,
  outcome: row.outcome ?? undefined,
  abort: row.abort === null ? undefined : storedJson(row.abort),
  body: storedJson(row.body),
});

export interface HeldRunRow extends RunRow {
  /** The node that holds its agent. */
  readonly holder: number;
}

/** A run that waits for a trial. Undefined if its holder works on it. */
export function heldRunOf({ holder, ...row }: HeldRunRow): RunRecord | undefined {
  const run = runOf(row);
  return isHeldBack(run, holder) ? run : undefined;
}

export interface UsageRow {
  readonly agent_id: AgentId;
  readonly person: string | null;
  readonly runs: number;
  readonly tokens: number;
  readonly cost: number;
}

export const usageOf = (row: UsageRow): RunUsage => ({
  agentId: row.agent_id,
  person: row.person ?? undefined,
  runs: row.runs,
  tokens: row.tokens,
  cost: row.cost,
});

export interface DeliveryRow {
  readonly n: number;
  readonly id: Delivery["id"];
  readonly agent_id: AgentId;
  readonly run_id: RunRecord["id"] | null;
  readonly state: Delivery["state"];
  readonly attempts: number;
  readonly node: number | null;
  readonly next_at: number;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly reason: string | null;
  readonly receipt: string | null;
  readonly target: string;
  readonly payload: string;
}

export const deliveryOf = (row: DeliveryRow): Delivery => ({
  n: row.n,
  id: row.id,
  agentId: row.agent_id,
  runId: row.run_id ?? undefined,
  target: storedJson(row.target),
  payload: storedJson(row.payload),
  state: row.state,
  attempts: row.attempts,
  node: row.node ?? undefined,
  nextAt: row.next_at,
  createdAt: row.created_at,
  endedAt: row.ended_at ?? undefined,
  reason: row.reason ?? undefined,
  receipt: row.receipt ?? undefined,
});

/** The first deliveries of two lists, in the store's order. */
export const firstInOrder = (deliveries: readonly Delivery[], limit: number): readonly Delivery[] =>
  [...deliveries].sort((a, b) => a.n - b.n).slice(0, limit);

export const waitingCounts = (
  rows: readonly { readonly state: WaitingState; readonly count: number }[],
): Readonly<Record<WaitingState, number>> => ({
  "waiting-reader": 0,
  unroutable: 0,
  ...Object.fromEntries(rows.map(({ state, count }) => [state, count])),
});

export interface SlotRow {
  readonly n: number;
  readonly row: string;
}

export const slotOf = ({ n, row }: SlotRow): JobSlot & { readonly n: number } => ({ ...storedJson<JobSlot>(row), n });

export interface ContactRow {
  readonly swarm: string;
  readonly contact: AgentId;
  readonly agent: AgentId | null;
  readonly sent: number;
  readonly received: number;
  readonly first_at: number;
  readonly last_at: number;
}

export const contactOf = (row: ContactRow): SwarmContact => ({
  swarm: row.swarm,
  contact: row.contact,
  agentId: row.agent ?? undefined,
  messagesSent: row.sent,
  messagesReceived: row.received,
  firstContactAt: row.first_at,
  lastContactAt: row.last_at,
});

export interface WaitRow {
  readonly id: string;
  readonly waiter: AgentId;
  readonly awaited: AgentId;
  readonly run_id: WaitEdge["runId"];
  readonly since: number;
}

export const waitOf = (row: WaitRow): WaitEdge => ({
  id: row.id,
  from: row.waiter,
  to: row.awaited,
  runId: row.run_id,
  since: row.since,
});

type SpendName = "spent" | "reserved" | "lifted" | "estimated";

export type BudgetRow = { readonly key: string; readonly at: number } & {
  readonly [Column in `${SpendName}_${"tokens" | "micros"}`]: number;
};

export const budgetOf = (row: BudgetRow): BudgetRecord => ({
  key: row.key,
  spent: { tokens: row.spent_tokens, micros: row.spent_micros },
  reserved: { tokens: row.reserved_tokens, micros: row.reserved_micros },
  lifted: { tokens: row.lifted_tokens, micros: row.lifted_micros },
  estimated: { tokens: row.estimated_tokens, micros: row.estimated_micros },
  at: row.at,
});

export interface ReservationRow {
  readonly id: string;
  readonly run_id: string;
  /** A JSON array. */
  readonly keys: string;
  readonly tokens: number;
  readonly micros: number;
  readonly at: number;
}

export const reservationOf = (row: ReservationRow): Reservation => ({
  id: row.id,
  runId: row.run_id,
  keys: JSON.parse(row.keys) as string[],
  cost: { tokens: row.tokens, micros: row.micros },
  at: row.at,
});

/** An agent whose people were notified that the budget of this key is used up. */
export interface ToldRow {
  readonly key: string;
  readonly agent: string;
}

export interface NodeRow {
  readonly node: number;
  readonly name: string;
  readonly lease_until: number;
  /** 0: up, 1: left or dead, 2: the same process joined again under another number. */
  readonly gone: number;
}

export const nodeOf = (row: NodeRow): NodeRecord => ({
  node: row.node,
  name: row.name,
  leaseUntil: row.lease_until,
  left: row.gone === 1,
  returned: row.gone === 2,
});

export function storedJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new CorruptDataError("A record in the store cannot be read.", {
      cause,
      hint: "The record was left unchanged. Run `rookery engine repair` to see what can be recovered.",
    });
  }
}

/** The rows that can be parsed, in their order. */
export function readable<Row, T>(rows: readonly Row[], of: (row: Row) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [of(row)];
    } catch (error) {
      if (error instanceof CorruptDataError) return [];
      throw error;
    }
  });
}

/** A page of parsed rows. Reads on past rows that cannot be parsed until the page is full or the table ends. */
export async function readablePage<Row, T>(
  limit: number,
  of: (row: Row) => T,
  read: (limit: number) => Promise<readonly Row[]> | readonly Row[],
): Promise<T[]> {
  for (let asked = limit; ; ) {
    const rows = await read(asked);
    const found = readable(rows, of);
    if (found.length >= limit || rows.length < asked) return found.slice(0, limit);
    asked += limit - found.length;
  }
}

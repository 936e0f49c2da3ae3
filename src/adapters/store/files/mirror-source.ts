/** What the mirror reads: the database, through a connection of its own that cannot write. */
import type { DeliveryState } from "../../../core/delivery/delivery.ts";
import type { AgentId } from "../../../core/ids.ts";

export interface MirrorSource {
  /** The oldest and the newest change there is; zero where there is none. */
  bounds(): { readonly first: number; readonly last: number };
  changeId(n: number): string | undefined;
  changesAfter(n: number, limit: number): readonly LoggedChange[];
  /** Agent numbers above `no`, rising: for a pass over all of them. */
  agentsAfter(no: number, limit: number): readonly number[];
  knowsAgent(id: string): boolean;
  /** Everything `read` asks for is of one moment. */
  consistently<T>(read: () => T): T;
  agent(no: number): AgentRow | undefined;
  /** History lines from a position on. */
  lines(no: number, from: number, limit: number): readonly { readonly pos: number; readonly line: string }[];
  openRun(runId: string): RunRow | undefined;
  /** Messages that wait or are taken, from a sequence on. */
  unsettled(no: number, fromSeq: number): readonly MessageRow[];
  /** Dedupe keys of the newest messages above a sequence, oldest first, at most `limit`. */
  dedupeKeys(no: number, afterSeq: number, limit: number): readonly DedupeRow[];
  /** The row of one key, if it is still kept and this agent's. */
  dedupeKey(no: number, key: string): DedupeRow | undefined;
  openDeliveries(no: number): readonly DeliveryRow[];
  subagentRuns(): readonly unknown[];
  jobs(): readonly unknown[];
  /** The whole of `budgets.json`; undefined where there is nothing to tell. */
  budgets(): object | undefined;
  job(id: string): unknown;
  swarms(): readonly unknown[];
  /** The row of one due time, as text. */
  slot(jobId: string, slot: string): string | undefined;
  /** The newest rows of due times, oldest first. */
  newestSlots(limit: number): readonly string[];
}

export interface LoggedChange {
  readonly n: number;
  readonly at: number;
  readonly touched: string;
}

/** Columns as they are stored; JSON is still text. */
export interface AgentRow {
  readonly no: number;
  readonly id: AgentId;
  readonly session_key: string;
  readonly profile: string;
  readonly descriptor: string;
  readonly created_at: number;
  readonly session_id: string;
  readonly next_seq: number;
  readonly cursor: number;
  readonly next_pos: number;
  readonly leaf: string;
  readonly run_id: string | null;
  readonly last_human_at: number | null;
  readonly stopped: string | null;
  readonly state: string;
}

export interface RunRow {
  readonly id: string;
  readonly session_id: string;
  readonly attempt: number;
  readonly step: number;
  readonly started_at: number;
  readonly abort: string | null;
  readonly body: string;
}

export interface MessageRow {
  readonly seq: number;
  readonly state: "waiting" | "taken";
  readonly run_id: string | null;
  readonly message: string;
}

export interface DeliveryRow {
  readonly id: string;
  readonly run_id: string | null;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly next_at: number;
  readonly created_at: number;
  readonly reason: string | null;
  readonly target: string;
  readonly payload: string;
}

/** Key, sequence, kept until. */
export type DedupeRow = readonly [key: string, seq: number, keepUntil: number];

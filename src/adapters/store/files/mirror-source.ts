/** What the mirror reads: the database, through its own read-only connection. */
import type { ApprovalRow } from "../approval-rows.ts";
import type * as rows from "../rows.ts";

export interface MirrorSource {
  /** The numbers of the oldest and the newest change; zero if there is none. */
  bounds(): { readonly first: number; readonly last: number };
  changeId(n: number): string | undefined;
  changesAfter(n: number, limit: number): readonly LoggedChange[];
  /** Agent numbers above `no`, rising: for a pass over all of them. */
  agentsAfter(no: number, limit: number): readonly number[];
  knowsAgent(id: string): boolean;
  /** All reads inside `read` see the same moment. */
  consistently<T>(read: () => T): T;
  agent(no: number): AgentRow | undefined;
  /** History lines from a position on. */
  lines(no: number, from: number, limit: number): readonly rows.LineRow[];
  openRun(runId: string): RunRow | undefined;
  /** Messages that wait or are taken, from a sequence on. */
  unsettled(no: number, fromSeq: number): readonly MessageRow[];
  /** Dedupe keys of the newest messages above a sequence, oldest first, at most `limit`. */
  dedupeKeys(no: number, afterSeq: number, limit: number): readonly DedupeRow[];
  /** The row of one key, if it is still stored and belongs to this agent. */
  dedupeKey(no: number, key: string): DedupeRow | undefined;
  openDeliveries(no: number): readonly DeliveryRow[];
  /** Open questions and unused yeses of an agent. */
  openApprovals(agentId: string): readonly ApprovalRow[];
  subagentRuns(): readonly unknown[];
  jobs(): readonly unknown[];
  /** The content of `budgets.json`; undefined if there is no budget. */
  budgets(): object | undefined;
  job(id: string): unknown;
  swarms(): readonly unknown[];
  /** The content of `people.json`; undefined if no one was ever recorded. */
  people(): object | undefined;
  /** The content of `files.json`; undefined if there is no file. */
  storedFiles(): object | undefined;
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

// Columns as they are stored; JSON is still text.
export type AgentRow = Omit<rows.AgentRow, "waiting" | "node" | "epoch" | "suspended">;
export type RunRow = Pick<rows.RunRow, "id" | "session_id" | "attempt" | "step" | "started_at" | "abort" | "body">;
export type MessageRow = Pick<rows.MessageRow, "seq" | "state" | "run_id" | "message">;
export type DeliveryRow = Omit<rows.DeliveryRow, "n" | "agent_id" | "node" | "ended_at" | "receipt">;

export type DedupeRow = readonly [key: string, seq: number, keepUntil: number];

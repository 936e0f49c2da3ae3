/**
 * The contract of the gate: the one place that decides which calls of a run may start (L13, M30). All calls of one answer are
 * judged together, before the commit that records the intent to start them. That commit names the revision of rights they
 * were judged by, and is refused if it has moved.
 */
import type { AgentRecord } from "../agent/agent.ts";
import type { Decision, Effect } from "../rights/decide.ts";
import type { CallRecord, RunRecord } from "../run/run.ts";

/** The run that makes the calls. */
export type JudgedRun = Pick<RunRecord, "id" | "body">;

/** A call, and what was decided about it. */
export interface JudgedCall {
  readonly call: CallRecord;
  /** The strictest decision of all its effects. */
  readonly decision: Decision;
  /** Who it is done for. */
  readonly person: string;
  /** What it is about to do. The tool does nothing else. */
  readonly effects: readonly Effect[];
  /** The arguments as the tool gets them. Set for a call that is asked about. */
  readonly input?: unknown;
  /** Whether it does more than read: then it is written to the audit log. */
  readonly acts: boolean;
}

export interface Judgement {
  /** The revision of people's rights that decided. */
  readonly revision: number;
  /** In the order of the calls. */
  readonly calls: readonly JudgedCall[];
}

export interface Gate {
  judge(agent: AgentRecord, run: JudgedRun, calls: readonly CallRecord[]): Promise<Judgement>;
}

/**
 * The plain files of a home: where they are and what text they hold. Paths are relative to the home; an id is checked
 * before it becomes a path. `read-agent-files.ts` and `restore-registries.ts` read them back.
 */
import type { AgentId } from "../../../core/ids.ts";
import { type ApprovalRow, approvalOf } from "../approval-rows.ts";
import type { AgentRow, DedupeRow, DeliveryRow, MessageRow, RunRow } from "./mirror-source.ts";

export const AGENTS_DIR = "agents";
/** Directories of agents that the database does not know, moved here and kept. */
export const ASIDE_DIR = "agents-aside";
export const MARK_FILE = "mirror.json";
export const SUBAGENTS_FILE = "subagents/runs.json";
export const JOBS_FILE = "cron/jobs.json";
export const JOB_RUNS_FILE = "cron/runs.jsonl";
export const BUDGETS_FILE = "budgets.json";
export const SWARMS_FILE = "swarms/swarms.json";
export const PEOPLE_FILE = "people.json";
export const STORED_FILES_FILE = "files.json";

export interface AgentPaths {
  readonly dir: string;
  readonly descriptor: string;
  readonly state: string;
  readonly history: string;
  readonly pending: string;
}

export function agentPaths(id: AgentId): AgentPaths {
  const dir = `${AGENTS_DIR}/${id}`;
  return {
    dir,
    descriptor: `${dir}/descriptor.json`,
    state: `${dir}/state.json`,
    history: `${dir}/history.jsonl`,
    pending: `${dir}/pending.json`,
  };
}

/** How every JSON file but the history is written. */
export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const json = (text: string): unknown => JSON.parse(text);

/**
 * `state.json`: the agent's state as the database has it, and under `_engine` the rest that a rebuild of the agent needs.
 * Values that change with every step are in `pending.json`, so that this file is seldom rewritten.
 */
export function stateText(row: AgentRow): string {
  const engine = {
    sessionKey: row.session_key,
    profile: row.profile,
    person: row.person ?? undefined,
    sessionId: row.session_id,
    createdAt: row.created_at,
    stopped: row.stopped === null ? undefined : json(row.stopped),
  };
  return jsonText({ ...(json(row.state) as object), _engine: engine });
}

export const PENDING_VERSION = 1;
/** How many of an agent's newest messages keep their dedupe key in `pending.json`. */
export const DEDUPE_KEYS = 200;

interface PendingRows {
  readonly agent: AgentRow;
  readonly run: RunRow | undefined;
  readonly messages: readonly MessageRow[];
  readonly deliveries: readonly DeliveryRow[];
  readonly approvals: readonly ApprovalRow[];
  readonly dedupe: readonly DedupeRow[];
}

/**
 * `pending.json`: the unfinished work of an agent (M6). Counters, messages that wait or are taken, the open run with its
 * intents, deliveries that have not ended, open approvals and unused yeses, and the newest dedupe keys.
 */
export function pendingText({ agent, run, messages, deliveries, approvals, dedupe }: PendingRows): string {
  const head = {
    version: PENDING_VERSION,
    // As in `state.json`, so that a loss of that file does not cost the conversation.
    sessionKey: agent.session_key,
    profile: agent.profile,
    person: agent.person ?? undefined,
    stopped: agent.stopped === null ? undefined : json(agent.stopped),
    nextSeq: agent.next_seq,
    nextPos: agent.next_pos,
    leaf: agent.leaf,
    lastHumanAt: agent.last_human_at ?? undefined,
    messages: messages.map((row) => ({
      seq: row.seq,
      state: row.state,
      runId: row.run_id ?? undefined,
      message: json(row.message),
    })),
    run: run && {
      id: run.id,
      sessionId: run.session_id,
      attempt: run.attempt,
      step: run.step,
      startedAt: run.started_at,
      abort: run.abort === null ? undefined : json(run.abort),
      body: json(run.body),
    },
    deliveries: deliveries.map((row) => ({
      id: row.id,
      runId: row.run_id ?? undefined,
      state: row.state,
      attempts: row.attempts,
      nextAt: row.next_at,
      createdAt: row.created_at,
      reason: row.reason ?? undefined,
      target: json(row.target),
      payload: json(row.payload),
    })),
    approvals: approvals.length === 0 ? undefined : approvals.map(approvalOf),
  };
  // One key per line: indented further, two hundred keys would take a thousand lines.
  const keys = dedupe.map((row) => `    ${JSON.stringify(row)}`).join(",\n");
  return `${jsonText(head).slice(0, -3)},\n  "dedupe": [${keys === "" ? "" : `\n${keys}\n  `}]\n}\n`;
}

/** The dedupe keys in a `pending.json`; none if the file is missing or broken. */
export function dedupeKeysIn(bytes: Buffer | undefined): readonly string[] {
  try {
    const { dedupe } = JSON.parse(bytes?.toString() ?? "{}") as { dedupe?: readonly (readonly unknown[])[] };
    return (dedupe ?? []).map((row) => row[0]).filter((key) => typeof key === "string");
  } catch {
    return [];
  }
}

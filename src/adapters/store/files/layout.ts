/** Where the plain files of a home stand. Paths are relative to the home; an id is checked before it becomes a path. */
import type { AgentId } from "../../../core/ids.ts";

export const AGENTS_DIR = "agents";
/** Whole agents that the database does not know, moved out of the way and kept. */
export const ASIDE_DIR = "agents-aside";
export const MARK_FILE = "mirror.json";
export const SUBAGENTS_FILE = "subagents/runs.json";
export const JOBS_FILE = "cron/jobs.json";
export const JOB_RUNS_FILE = "cron/runs.jsonl";
export const BUDGETS_FILE = "budgets.json";
export const SWARMS_FILE = "swarms/swarms.json";

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

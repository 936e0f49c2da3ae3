/**
 * `state.json`: the agent's state record as the database has it, and under `_engine` what else it takes to make the agent
 * again. What changes with every step stands in `pending.json`, so that this file is seldom rewritten.
 */
import { jsonText } from "./layout.ts";
import type { AgentRow } from "./mirror-source.ts";

export function stateText(row: AgentRow): string {
  const engine = {
    sessionKey: row.session_key,
    profile: row.profile,
    sessionId: row.session_id,
    createdAt: row.created_at,
    ...(row.stopped === null ? {} : { stopped: JSON.parse(row.stopped) as unknown }),
  };
  return jsonText({ ...(JSON.parse(row.state) as object), _engine: engine });
}

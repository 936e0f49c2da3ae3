SELECT id, agent AS agent_id, session_id, state, attempt, step, started_at, ended_at, outcome, abort, body FROM runs WHERE id = $1

INSERT INTO runs (id, agent, session_id, state, attempt, step, started_at, abort, body) VALUES (?, ?, ?, 'open', ?, ?, ?, ?, ?)

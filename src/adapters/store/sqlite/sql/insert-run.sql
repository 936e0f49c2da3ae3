INSERT INTO runs (id, agent, session_id, state, attempt, step, started_at, body) VALUES (?, ?, ?, 'open', 1, 1, ?, ?)

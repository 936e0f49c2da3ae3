INSERT INTO deliveries (id, agent, run_id, state, attempts, next_at, created_at, ended_at, reason, target, payload)
VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)

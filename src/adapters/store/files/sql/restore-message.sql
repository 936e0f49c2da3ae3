INSERT INTO messages (agent, seq, state, urgent, accepted_at, run_id, message) VALUES (?, ?, ?, ?, ?, ?, ?)

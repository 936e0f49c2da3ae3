INSERT INTO messages (agent, seq, state, urgent, accepted_at, message) VALUES (?, ?, 'waiting', ?, ?, ?)

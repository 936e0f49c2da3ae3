INSERT INTO entries (agent, pos, line) VALUES (?, ?, ?)

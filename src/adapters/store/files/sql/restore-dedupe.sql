INSERT OR IGNORE INTO dedupe (key, agent, seq, keep_until) VALUES (?, ?, ?, ?)

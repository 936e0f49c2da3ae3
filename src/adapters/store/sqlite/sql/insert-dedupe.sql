INSERT INTO dedupe (key, agent, seq, keep_until) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING

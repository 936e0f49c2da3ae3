INSERT INTO session_keys (key, agent) VALUES (?, ?)

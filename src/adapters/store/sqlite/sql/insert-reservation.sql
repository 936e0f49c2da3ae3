INSERT INTO reservations (id, run_id, keys, tokens, micros, at) VALUES (?, ?, ?, ?, ?, ?)

INSERT INTO agents (id, session_key, profile, kind, parent, descriptor, created_at, session_id, next_seq, cursor, waiting,
  next_pos, leaf, run_id, node, epoch, last_human_at, stopped, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, ?, ?, NULL, NULL, 0, NULL, NULL, ?)

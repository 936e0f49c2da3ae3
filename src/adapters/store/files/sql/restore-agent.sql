INSERT INTO agents (id, session_key, profile, kind, parent, descriptor, created_at, session_id, next_seq, cursor, waiting, next_pos, leaf,
  run_id, node, epoch, last_human_at, stopped, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 0, ?, ?, ?)

SELECT no, id, session_key, profile, descriptor, created_at, session_id, next_seq, cursor, waiting, next_pos, leaf, run_id, node, epoch,
  last_human_at, stopped, state
FROM agents WHERE no > coalesce((SELECT no FROM agents WHERE id = ?), 0) AND coalesce(stopped ->> 'removed', 0) = 0 ORDER BY no LIMIT ?

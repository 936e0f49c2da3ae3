SELECT no, id, session_key, profile, descriptor, created_at, session_id, next_seq, cursor, waiting, next_pos, leaf, run_id, node, epoch,
  last_human_at, stopped, states.state
FROM agents JOIN states ON states.agent = agents.id
WHERE parent = $1 AND no > coalesce((SELECT earlier.no FROM agents AS earlier WHERE earlier.id = $2), 0) AND NOT removed
ORDER BY no LIMIT $3

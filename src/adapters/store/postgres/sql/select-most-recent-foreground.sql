SELECT no, id, session_key, profile, descriptor, created_at, session_id, next_seq, cursor, waiting, next_pos, leaf, run_id, node, epoch,
  last_human_at, stopped, states.state
FROM agents JOIN states ON states.agent = agents.id
WHERE kind = 'user' AND last_human_at IS NOT NULL ORDER BY last_human_at DESC, no DESC LIMIT $1

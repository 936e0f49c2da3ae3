SELECT no, id, session_key, profile, descriptor, created_at, session_id, next_seq, cursor, waiting, next_pos, leaf, run_id, node, epoch,
  last_human_at, stopped, states.state
FROM session_keys JOIN agents ON agents.id = session_keys.agent JOIN states ON states.agent = agents.id WHERE session_keys.key = $1

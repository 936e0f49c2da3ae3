SELECT no, id, session_key, profile, descriptor, created_at, session_id, next_seq, cursor, next_pos, leaf, run_id, last_human_at, stopped,
  states.state
FROM agents JOIN states ON states.agent = agents.id WHERE agents.id = $1

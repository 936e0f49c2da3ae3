SELECT seq, state, accepted_at, settled_at, run_id, reason, message FROM messages WHERE agent = $1 AND seq = $2

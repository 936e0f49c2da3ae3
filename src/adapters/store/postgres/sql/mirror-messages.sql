SELECT seq, state, run_id, message FROM messages WHERE agent = $1 AND seq >= $2 ORDER BY seq

SELECT seq, state, run_id, message FROM messages WHERE agent = ? AND seq >= ? AND state IN ('waiting', 'taken') ORDER BY seq

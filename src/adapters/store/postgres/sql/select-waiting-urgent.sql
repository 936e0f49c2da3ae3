SELECT seq, state, accepted_at, settled_at, run_id, reason, message FROM messages
WHERE agent = $1 AND seq > greatest((SELECT cursor FROM agents WHERE id = $1), $2::bigint) AND urgent AND state = 'waiting'
ORDER BY seq LIMIT $3

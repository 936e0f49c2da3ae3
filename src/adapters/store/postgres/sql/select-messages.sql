SELECT seq, state, accepted_at, settled_at, run_id, reason, message FROM messages
WHERE agent = $1 AND seq < $2 AND ($3::text[] IS NULL OR state = ANY ($3::text[])) ORDER BY seq DESC LIMIT $4

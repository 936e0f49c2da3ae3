SELECT id, session_id, attempt, step, started_at, abort, body FROM runs WHERE id = $1 AND agent = $2 AND state = 'open'

SELECT id, session_id, attempt, step, started_at, abort, body FROM runs WHERE id = ? AND state = 'open'

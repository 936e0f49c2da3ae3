SELECT id, run_id, state, attempts, next_at, created_at, reason, target, payload FROM deliveries
WHERE agent = $1 AND state IN ('pending', 'sending') ORDER BY n

SELECT id, run_id, state, attempts, next_at, created_at, reason, target, payload
FROM deliveries INDEXED BY deliveries_agent
WHERE agent = ? AND n >= ? AND state IN ('pending', 'sending') ORDER BY n

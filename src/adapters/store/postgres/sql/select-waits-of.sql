SELECT waits.id, waits.waiter, waits.awaited, waits.run_id, waits.since
FROM waits JOIN runs ON runs.id = waits.run_id AND runs.agent = waits.waiter AND runs.state = 'open'
WHERE waits.waiter = $1 ORDER BY waits.id LIMIT $2

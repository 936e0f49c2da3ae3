WITH RECURSIVE reached (agent) AS (
  SELECT ?
  UNION
  SELECT waits.awaited
  FROM reached JOIN waits ON waits.waiter = reached.agent JOIN runs ON runs.id = waits.run_id AND runs.state = 'open'
)
SELECT 1 FROM reached WHERE agent = ? LIMIT 1

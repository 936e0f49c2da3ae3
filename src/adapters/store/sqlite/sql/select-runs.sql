SELECT runs.id, agents.id AS agent_id, runs.session_id, runs.state, runs.attempt, runs.step, runs.started_at, runs.ended_at, runs.outcome,
  runs.abort, runs.body
FROM runs JOIN agents ON agents.no = runs.agent WHERE runs.agent = (SELECT no FROM agents WHERE id = ?)
ORDER BY runs.n DESC LIMIT ?

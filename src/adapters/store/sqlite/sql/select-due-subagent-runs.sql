SELECT record FROM subagent_runs WHERE due_at <= ? ORDER BY due_at, run_id LIMIT ?

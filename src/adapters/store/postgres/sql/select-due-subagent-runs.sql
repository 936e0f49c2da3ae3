SELECT record FROM subagent_runs WHERE due_at <= $1 ORDER BY due_at, run_id LIMIT $2

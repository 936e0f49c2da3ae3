SELECT record FROM subagent_runs ORDER BY run_id

SELECT record FROM subagent_runs WHERE ended = 0 ORDER BY run_id

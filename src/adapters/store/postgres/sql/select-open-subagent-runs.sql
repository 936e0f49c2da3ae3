SELECT record FROM subagent_runs WHERE NOT ended ORDER BY run_id

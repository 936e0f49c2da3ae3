SELECT record FROM subagent_runs WHERE run_id = ?

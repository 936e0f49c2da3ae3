SELECT ended FROM subagent_runs WHERE run_id = ?

SELECT record FROM subagent_runs WHERE requester = ? ORDER BY run_id

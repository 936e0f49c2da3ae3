SELECT record FROM subagent_runs WHERE requester = $1 ORDER BY run_id

SELECT count(*) AS open FROM subagent_runs WHERE requester = ? AND ended = 0

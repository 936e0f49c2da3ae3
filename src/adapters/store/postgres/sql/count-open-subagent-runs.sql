SELECT count(*) AS open FROM subagent_runs WHERE requester = $1 AND NOT ended

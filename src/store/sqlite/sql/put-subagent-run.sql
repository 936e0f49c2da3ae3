INSERT INTO subagent_runs (run_id, requester, record) VALUES (?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET requester = excluded.requester, record = excluded.record

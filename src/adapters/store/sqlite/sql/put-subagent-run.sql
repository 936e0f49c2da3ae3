INSERT INTO subagent_runs (run_id, requester, record, ended, due_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET requester = excluded.requester, record = excluded.record, ended = excluded.ended,
  due_at = excluded.due_at

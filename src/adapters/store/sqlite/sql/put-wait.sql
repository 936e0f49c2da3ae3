INSERT INTO waits (id, waiter, awaited, run_id, since) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET waiter = excluded.waiter, awaited = excluded.awaited, run_id = excluded.run_id

INSERT INTO jobs (id, next_at, job) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at, job = excluded.job

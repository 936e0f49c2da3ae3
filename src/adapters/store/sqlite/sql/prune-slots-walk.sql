SELECT n, at AS ended_at FROM job_slots WHERE n > ? ORDER BY n LIMIT ?

SELECT n, ended_at FROM runs WHERE n > ? ORDER BY n LIMIT ?

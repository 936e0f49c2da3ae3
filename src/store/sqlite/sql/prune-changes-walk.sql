SELECT n, at AS ended_at FROM changes WHERE n > ? ORDER BY n LIMIT ?

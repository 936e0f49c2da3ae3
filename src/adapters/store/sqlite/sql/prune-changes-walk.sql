SELECT n, at AS ended_at FROM changes WHERE n > ? AND n < (SELECT max(n) FROM changes) ORDER BY n LIMIT ?

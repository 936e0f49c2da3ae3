SELECT n, ended_at FROM deliveries WHERE n > ? ORDER BY n LIMIT ?

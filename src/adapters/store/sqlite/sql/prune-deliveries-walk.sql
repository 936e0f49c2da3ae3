SELECT n, ended_at FROM deliveries WHERE n > ? AND n < (SELECT max(n) FROM deliveries) ORDER BY n LIMIT ?

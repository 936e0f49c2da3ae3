UPDATE deliveries SET n = (SELECT max(n) + 1 FROM deliveries), created_at = ? WHERE n = ?

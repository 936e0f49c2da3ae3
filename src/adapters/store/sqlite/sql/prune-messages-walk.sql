SELECT n, settled_at AS ended_at FROM messages WHERE n > ? ORDER BY n LIMIT ?

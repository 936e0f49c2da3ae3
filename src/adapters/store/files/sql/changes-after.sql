SELECT n, at, touched FROM changes WHERE n > ? ORDER BY n LIMIT ?

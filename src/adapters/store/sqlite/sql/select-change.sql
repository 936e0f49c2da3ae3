SELECT result FROM (SELECT id, result FROM changes ORDER BY n DESC LIMIT 100000) WHERE id = ?

INSERT INTO changes (n, id, at, touched, result) VALUES (?, ?, ?, '', NULL)

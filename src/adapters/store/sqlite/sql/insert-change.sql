INSERT INTO changes (id, at, touched, result) VALUES (?, ?, ?, ?)

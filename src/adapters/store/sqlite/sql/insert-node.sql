INSERT INTO nodes (name, lease_until, gone) VALUES (?, ?, 0)

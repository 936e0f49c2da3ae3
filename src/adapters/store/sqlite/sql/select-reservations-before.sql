SELECT * FROM reservations WHERE at < ? ORDER BY id

SELECT * FROM reservations ORDER BY at, id LIMIT ?

SELECT * FROM reservations WHERE id = ?

DELETE FROM reservations WHERE id = ?

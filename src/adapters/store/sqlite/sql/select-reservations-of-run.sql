SELECT * FROM reservations WHERE run_id = ? ORDER BY id

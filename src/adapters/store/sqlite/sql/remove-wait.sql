DELETE FROM waits WHERE id = ?

DELETE FROM facts WHERE key = ?

SELECT value FROM facts WHERE key = ?

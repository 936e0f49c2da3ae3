SELECT * FROM budgets WHERE key > ? ORDER BY key LIMIT ?

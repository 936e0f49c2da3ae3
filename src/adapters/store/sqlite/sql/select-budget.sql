SELECT * FROM budgets WHERE key = ?

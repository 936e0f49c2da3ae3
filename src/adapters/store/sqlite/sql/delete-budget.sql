DELETE FROM budgets WHERE key = ?

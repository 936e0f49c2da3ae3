SELECT * FROM budgets WHERE key = $1

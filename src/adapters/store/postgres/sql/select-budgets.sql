SELECT * FROM budgets WHERE key > $1 ORDER BY key LIMIT $2

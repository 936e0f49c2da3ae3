DELETE FROM budget_told WHERE key = ?

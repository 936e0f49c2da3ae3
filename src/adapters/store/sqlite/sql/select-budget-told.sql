SELECT 1 AS told FROM budget_told WHERE key = ? AND agent = ?

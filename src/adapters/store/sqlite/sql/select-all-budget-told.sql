SELECT key, agent FROM budget_told ORDER BY key, agent

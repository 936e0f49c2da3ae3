INSERT INTO budget_told (key, agent) VALUES (?, ?) ON CONFLICT (key, agent) DO NOTHING

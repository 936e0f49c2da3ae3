SELECT no FROM agents WHERE no > ? ORDER BY no LIMIT ?

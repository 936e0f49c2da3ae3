SELECT 1 FROM deliveries WHERE target = ? AND state IN ('pending', 'sending') LIMIT 1

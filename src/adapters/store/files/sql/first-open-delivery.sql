SELECT n FROM deliveries INDEXED BY deliveries_open WHERE state IN ('pending', 'sending') ORDER BY n LIMIT 1

SELECT max(n) AS n FROM deliveries

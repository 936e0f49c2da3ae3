SELECT (SELECT min(n) FROM changes) AS first, (SELECT max(n) FROM changes) AS last

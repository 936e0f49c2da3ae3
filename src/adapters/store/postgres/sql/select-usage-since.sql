SELECT agent AS agent_id, person, count(*) AS runs, sum(tokens)::bigint AS tokens, sum(cost) AS cost
FROM runs WHERE started_at >= $1 GROUP BY agent, person ORDER BY agent, person

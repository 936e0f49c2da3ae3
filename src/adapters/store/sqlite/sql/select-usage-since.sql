-- Rows lie in the order runs began, but for a clock that jumped: the walk ends at the first that began before.
SELECT
  agents.id AS agent_id,
  json_extract(runs.body, '$.person') AS person,
  count(*) AS runs,
  sum(coalesce(json_extract(runs.body, '$.usage.totalTokens'), 0)) AS tokens,
  sum(coalesce(json_extract(runs.body, '$.usage.cost.total'), 0)) AS cost
FROM runs JOIN agents ON agents.no = runs.agent
WHERE runs.n > coalesce((SELECT n FROM runs WHERE started_at < ?1 ORDER BY n DESC LIMIT 1), 0)
  AND runs.started_at >= ?1
GROUP BY agents.id, person
ORDER BY agents.id, person

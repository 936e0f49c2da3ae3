-- Nodes that are up or still hold something, each with what it holds. Only agents that are held are looked at.
WITH clock AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now),
held AS (
  SELECT agents.node, count(*) AS agents, count(run_id) AS runs, sum(waiting)::bigint AS waiting,
    max((SELECT now FROM clock) - (
      SELECT accepted_at FROM messages WHERE messages.agent = agents.id AND seq > agents.cursor AND messages.state = 'waiting' ORDER BY seq LIMIT 1
    )) AS lag_ms
  FROM agents WHERE agents.node IS NOT NULL GROUP BY agents.node
)
SELECT nodes.node, nodes.name, nodes.gone, nodes.lease_until - (SELECT now FROM clock) AS lease_ms,
  coalesce(held.agents, 0) AS agents, coalesce(held.runs, 0) AS runs, coalesce(held.waiting, 0) AS waiting, coalesce(held.lag_ms, 0) AS lag_ms
FROM nodes LEFT JOIN held ON held.node = nodes.node
WHERE nodes.gone = 0 OR held.runs > 0 OR held.waiting > 0
ORDER BY nodes.node
